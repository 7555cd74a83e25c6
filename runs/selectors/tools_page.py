"""The tools page: what each tool declares, in plain words, who uses it, what policy says of it, and how it fares.

How it fares is counted over the newest actions, so many and no more: the page costs the same in the tenth year.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Count, Max, Q

from runs import exact, lifecycle, models, rights
from runs.models import scopes
from runs.policies import matching, parsing, rules, words
from runs.selectors import deciding, page_models, policy_models, policy_page, tools
from runs.selectors.tools_models import Argument, Detail, Failure, Line, ToolsPage
from runs.tools import contract, registry, undo

NEWEST = 5_000
FAILURES = 10


def page(viewer: deciding.Viewer) -> ToolsPage:
    """Return every tool by name; what takes an effect back is told with the tool that did it."""
    used, doubts, counts = _users(viewer), _doubts(viewer), _counts(viewer)
    paused = _paused()
    lines = tuple(
        _line(
            tool,
            agents=tuple(title for _, title in used.get(tool.name, ())),
            paused=tool.name in paused,
            in_doubt=doubts.get(tool.name, 0),
            figures=counts.get(tool.name, {}),
        )
        for tool in tools.seen(viewer.user)
        if not isinstance(tool, undo.Undo)
    )
    whole = viewer.user.limit() is None
    off = tuple(_line(one.kind(), off=one.how) for one in registry.off() if whole)
    return ToolsPage(lines=lines, off=off, newest=NEWEST)


def detail(name: str, viewer: deciding.Viewer) -> Detail | None:
    """Return everything about the tool of this name, also one that is off; None where there is none for this person."""
    if not scopes.told_of(viewer.user)(f"tool:{name}"):
        return None
    off = next((one for one in registry.off() if one.kind.name == name), None)
    tool = tools.find(name) or (off.kind() if off else None)
    if tool is None:
        return None
    agents = _users(viewer).get(name, ())
    line = _line(
        tool,
        agents=tuple(title for _, title in agents),
        paused=name in _paused(),
        in_doubt=_doubts(viewer).get(name, 0),
        figures=_counts(viewer, name).get(name, {}),
        off=off.how if off else "",
    )
    return Detail(
        line=line,
        about=inspect.getdoc(type(tool)) or "",
        facts=_declared(tool),
        can=_can(tool),
        arguments=tuple(_arguments(tool)),
        schema=exact.canonical(tool.schema(), limit=None),
        contract=tool.contract(),
        agents=agents,
        rules=_rules(tool),
        failures=_failures(name, viewer),
        may_switch=viewer.may(rights.Act.SWITCH) and off is None,
    )


def _line(tool: contract.Tool, *, figures: Mapping[str, int] | None = None, **more: Any) -> Line:
    found = figures or {}
    return Line(
        name=tool.name,
        title=tool.title or tool.name,
        tier=tool.risk(),
        effect=tools.effect_words(tool.effect, tool=tool.name),
        lost=tools.lost_words(tool),
        used=found.get("used", 0),
        failed=found.get("failed", 0),
        **more,
    )


def _declared(tool: contract.Tool) -> tuple[page_models.Fact, ...]:
    """Return what the tool declares of itself, in plain words."""
    found = [("What it does to the world", f"It {tools.effect_words(tool.effect, tool=tool.name)}.")]
    if tool.open_world:
        found.append(("Reach", "It reaches what nobody here has named one by one, such as the web."))
    found.append(("When its answer is lost", tools.lost_words(tool)))
    if tool.effect != contract.Effect.READ:
        if tool.protection == contract.Protection.IDEMPOTENT:
            window = words.span(int(tool.key_window.total_seconds()))
            found.append(("How long it may be sent again", f"{window} from the first time, less a tenth"))
        found.append(("What makes it the same action", _identity(tool)))
        if tool.settle is not None:
            settle = words.span(max(1, round(tool.settle.total_seconds())))
            found.append(("May still take effect after its deadline", f"for {settle}"))
    if tool.decisive:
        found.append(("What a reviewer must look at", ", ".join(map(tools.label, tool.decisive))))
    if tool.timeout is not None:
        found.append(("Time for one call", words.span(int(tool.timeout.total_seconds()))))
    found.append(("Version", str(tool.version)))
    return tuple(page_models.Fact(label=label, value=value) for label, value in found)


def _identity(tool: contract.Tool) -> str:
    if tool.identity is not None:
        return ", ".join(map(tools.label, tool.identity))
    if type(tool).identity_of is not contract.Tool.identity_of:
        return "It works that out from its arguments."
    return "Not declared: all arguments together, and each later attempt of a run asks a person again."


def _can(tool: contract.Tool) -> tuple[page_models.Fact, ...]:
    """Return what the tool can say and do beside its work."""
    kind = type(tool)
    takes_back = registry.undo_of(tool.name)
    back = "No."
    if takes_back is not None:
        lost = tools.protection_words(takes_back.protection)
        back = f"Yes, as an action of its own at tier {takes_back.risk()}. {lost}"
    elif undo.can(kind):
        back = "Yes, as an action of its own."
    found = (
        ("Says beforehand what will happen", kind.preview is not contract.Tool.preview),
        ("Reads again right before it acts what the decision rested on", kind.has_precondition()),
        ("Finds out whether it happened", kind.lookup is not contract.Tool.lookup),
        ("Reads back what it did", kind.verifies()),
    )
    said = [page_models.Fact(label=label, value="Yes." if there else "No.") for label, there in found]
    if tool.effect == contract.Effect.READ:
        return tuple(said[:1])
    return (*said, page_models.Fact(label="Can take it back", value=back))


def _arguments(tool: contract.Tool) -> Iterable[Argument]:
    schema = tool.schema()
    needed = set(schema.get("required") or ())
    for name, part in (schema.get("properties") or {}).items():
        marks = [
            words
            for words, there in (
                ("decisive", name in tool.decisive),
                ("identity", name in (tool.identity or ())),
                ("can't be edited", part.get("readOnly") is True),
            )
            if there
        ]
        yield Argument(
            name=name,
            kind=_kind(part, schema),
            needed=name in needed,
            marks=tuple(marks),
            said=str(part.get("description", "")),
        )


_KINDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "yes or no",
    "object": "group",
}


def _kind(part: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return the kind of a value in one or two words."""
    if "$ref" in part:
        name = str(part["$ref"]).rpartition("/")[2]
        return "file" if name == "FileRef" else _kind(schema.get("$defs", {}).get(name, {}), schema)
    if "anyOf" in part:
        return " or ".join(dict.fromkeys(_kind(one, schema) for one in part["anyOf"]))
    if "enum" in part or "const" in part:
        return " or ".join(map(str, part.get("enum", [part.get("const")])))
    if part.get("type") == "array":
        return f"list of {_kind(part.get('items') or {}, schema)}"
    return _KINDS.get(str(part.get("type")), "nothing" if part.get("type") == "null" else "anything")


def _rules(tool: contract.Tool) -> tuple[policy_models.RuleRow, ...]:
    """Return the rules in force that can be about this tool, up to the first one that is about every call of it."""
    document = policy_page.in_force().rules
    found: list[policy_models.RuleRow] = []
    for row, rule in zip(policy_page.rows(document), parsing.parse(document), strict=True):
        if not _may_match(rule, tool):
            continue
        found.append(row)
        if _always(rule.match):
            break
    return tuple(found)


def _may_match(rule: rules.Rule, tool: contract.Tool) -> bool:
    match = rule.match
    facts = matching.Facts(
        agent=match.agent or "", tool=tool.name, effect=tool.effect, tier=tool.risk(), protection=tool.protection,
        mode=match.mode[0] if match.mode else "live", labels=match.labels or (), open_world=tool.open_world,
    )  # fmt: skip
    return matching.matches(match, facts)


def _always(match: rules.Match) -> bool:
    return match.agent is None and match.mode is None and match.labels is None and not match.of_the_call


def _paused() -> frozenset[str]:
    return models.Installation.objects.get(pk=1).paused("tool")


def _users(viewer: deciding.Viewer) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return for each tool the agents, by name and title, whose version in force may call it."""
    found: dict[str, list[tuple[str, str]]] = {}
    rows = models.Agent.objects.filter(scopes.seen(viewer.user, "pk"), current__isnull=False)
    for name, title, used in rows.order_by("name").values_list("name", "title", "current__tools"):
        for tool in used or ():
            found.setdefault(tool, []).append((name, title or name))
    return {tool: tuple(agents) for tool, agents in found.items()}


def _doubts(viewer: deciding.Viewer) -> dict[str, int]:
    """Return how many open questions ask whether something happened, by tool."""
    rows = models.Review.objects.filter(
        scopes.seen(viewer.user, "run__agent_version__agent"),
        status=lifecycle.Review.OPEN,
        kind=lifecycle.ReviewKind.IN_DOUBT,
    )
    return dict(rows.order_by().values_list("action__tool").annotate(Count("pk")))


def _newest(viewer: deciding.Viewer) -> Any:
    top = models.Action.objects.aggregate(top=Max("pk"))["top"] or 0
    seen = scopes.seen(viewer.user, "run__agent_version__agent")
    return models.Action.objects.filter(seen, pk__gt=top - NEWEST)


def _counts(viewer: deciding.Viewer, name: str = "") -> dict[str, dict[str, int]]:
    """Return how many of the newest actions were sent and failed, by tool."""
    rows = _newest(viewer).filter(**({"tool": name} if name else {}))
    counted = (
        rows.order_by()
        .values("tool")
        .annotate(
            used=Count("pk", filter=Q(attempt__gt=0)),
            failed=Count("pk", filter=Q(status=lifecycle.Action.FAILED)),
        )
    )
    return {row["tool"]: row for row in counted}


def _failures(name: str, viewer: deciding.Viewer) -> tuple[Failure, ...]:
    rows = _newest(viewer).filter(tool=name, status=lifecycle.Action.FAILED).select_related("run")
    return tuple(
        Failure(run_id=row.run_id, run_title=row.run.title, why=row.error, at=row.closed_at)
        for row in rows.order_by("-pk")[:FAILURES]
    )
