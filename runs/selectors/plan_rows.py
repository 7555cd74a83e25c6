"""The steps of a draft as the editor draws them, and the fields of the one that is open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import lifecycle, models, plan_changes
from runs.providers import playbook_format
from runs.providers import registry as providers
from runs.selectors import plan_draft, plan_models, tools
from runs.tools import registry

SHORT = 160
LONG = 80


def row(
    run: models.Run,
    step: plan_changes.Step,
    number: int,
    *,
    standing: plan_changes.Standing | None,
    change: plan_changes.Change | None,
    doubts: tuple[str, ...],
    loses: bool,
    draft: plan_draft.Draft,
) -> plan_models.Row:
    """Return one step."""
    body = step["body"]
    name = str(body.get("tool") or "")
    tool = tools.find(name) if name else None
    locked = _locked(standing)
    opened = draft.opened == step["id"] and not locked
    return plan_models.Row(
        id=step["id"],
        number=number,
        title=step["title"],
        state=standing.state if standing else lifecycle.Step.PENDING,
        tool=tools.title(name) if name else "",
        tier=tool.risk() if tool else None,
        facts=tools.facts(body.get("with"), tools.telling(name)) if name else (),
        words=_words(body),
        gate=_guard(body, plan_changes.GATE),
        lock=_guard(body, plan_changes.LOCK),
        locked=locked,
        may_gate=bool(body.get(plan_changes.GATE)) or may_gate(body),
        kinds=change.kinds if change else (),
        up=change is not None and change.up,
        doubts=doubts,
        loses=loses,
        here=draft.at == step["id"],
        ends="finish" in body,
        fields=fields(run, step, draft) if opened else (),
    )


def may_gate(body: Mapping[str, Any]) -> bool:
    """Return whether the step can reach outside, so that there is something to be asked about."""
    tool = tools.find(str(body.get("tool") or ""))
    return not body.keys() & {"finish", "ask"} and (tool is None or tool.risk() > 0)


def fields(
    run: models.Run, step: plan_changes.Step, draft: plan_draft.Draft
) -> tuple[plan_models.Input, ...]:
    """Return the fields of the open step: as typed, or as they stand."""
    body = step["body"]
    bound = providers.follows_plan(run.agent_version.provider)
    found = [_field("title", "Title", "text", step["title"])]
    if "finish" in body:
        ending = plan_changes.part(body, "finish")
        found.append(_field("summary", "The run ends with", "area", str(ending.get("summary") or "")))
        found.append(_field("result", "Result, as JSON", "json", _json(ending.get("result"))))
    elif "ask" in body:
        asked = plan_changes.part(body, "ask")
        found.append(_field("question", "What a person is asked", "area", str(asked.get("question") or "")))
        found.append(
            _field(
                "schema",
                "Form of the answer, as a JSON Schema",
                "json",
                _json(asked.get("schema")),
                hint="Without one the answer is a text.",
            )
        )
        found.append(_field("to", "Group that is asked", "text", str(asked.get("to") or ""),
                            hint="Where the policy doesn't say who answers."))  # fmt: skip
    else:
        options = tuple((name, f"{tools.title(name)} ({name})") for name in run.agent_version.tools)
        none = () if bound else (("", "None: the agent reads the words"),)
        found.append(_field("tool", "Tool", "select", str(body.get("tool") or ""), options=(*none, *options)))
        found += _arguments(body, bound=bound)
        if bound:
            found += _retry(body)
            found += _compensation(body)
    if bound and "group" not in body:
        found.append(
            _field(
                "if",
                "Only if",
                "text",
                str(body.get("if") or ""),
                hint="An expression that gives true or false.",
            )
        )
    if bound and "each" in body:
        found += [
            _field(
                "each",
                "For each of",
                "text",
                str(body.get("each") or ""),
                hint="An expression that gives a list.",
            ),
            _field("as", "A row is called", "text", str(body.get("as") or "")),
            _field("key", "What names a row", "text", str(body.get("key") or "")),
            _field("row_title", "Title of a row", "text", str(body.get("row_title") or "")),
        ]
    found.append(
        _field(
            "note", "Note for people" if bound else "Words for the agent", "area", str(body.get("note") or "")
        )
    )
    if "finish" not in body:
        found.append(
            _box("required", "The run fails if this step fails", on=bool(body.get("required", True)))
        )
    if may_gate(body):
        found.append(_box("gate", "Ask somebody before this step", on=bool(body.get(plan_changes.GATE))))
    found.append(_box("lock", "The agent can't change this step", on=bool(body.get(plan_changes.LOCK))))
    return tuple(_typed(one, draft) for one in found)


def _retry(body: Mapping[str, Any]) -> list[plan_models.Input]:
    """Return how often a call that did not happen is tried again."""
    wanted = plan_changes.part(body, "retry")
    hint = "For what provably did not happen; empty is what the tool itself says. What is unknown is asked."
    times, wait = (str(wanted.get(name) or "") for name in ("times", "wait"))
    return [
        _field("retry-times", "Tried so often more", "text", times, hint=hint),
        _field("retry-wait", "Seconds between two tries", "text", wait),
    ]


def _compensation(body: Mapping[str, Any]) -> list[plan_models.Input]:
    """Return whether what this does is taken back when a later step fails, where something takes it back."""
    wanted = bool(body.get("compensate"))
    if not wanted and registry.undo_of(str(body.get("tool") or "")) is None:
        return []
    return [_box("compensate", "Take it back if a later step fails", on=wanted)]


def _arguments(body: Mapping[str, Any], *, bound: bool) -> list[plan_models.Input]:
    """Return the arguments: texts as they are, the rest as JSON; all as JSON where the tool doesn't know them all."""
    given, hint = body.get("with"), _arguments_hint(body, bound=bound)
    tool = tools.find(str(body.get("tool") or ""))
    known = tool.schema().get("properties", {}) if tool else {}
    if not isinstance(given, Mapping) or not given or given.keys() - known.keys():
        return [_field("with", "Arguments, as JSON", "json", _json(given), hint=hint)]
    found = [argument(name, given[name], known[name]) for name in known if name in given]
    return [*found, _field("with", "Further arguments, as JSON", "json", "", hint=hint)]


def argument(name: str, value: Any, schema: Mapping[str, Any]) -> plan_models.Input:
    """Return the field of one argument: a text as it is, anything else as JSON."""
    label = str(schema.get("title") or tools.label(name))
    if isinstance(value, str) and plan_draft.plain(value):
        kind = "area" if "\n" in value or len(value) > LONG else "text"
        return _field(f"with.{name}", label, kind, value)
    return _field(f"with.{name}", f"{label}, as JSON", "json", plan_draft.pretty(value))


def _field(
    name: str, label: str, kind: str, value: str, *, hint: str = "", options: tuple[tuple[str, str], ...] = ()
) -> plan_models.Input:
    return plan_models.Input(name=name, label=label, kind=kind, value=value, hint=hint, options=options)


def _box(name: str, label: str, *, on: bool) -> plan_models.Input:
    return plan_models.Input(name=name, label=label, kind="box", value="on" if on else "")


def _typed(one: plan_models.Input, draft: plan_draft.Draft) -> plan_models.Input:
    """Return the field with what was typed, where it came back because something is wrong."""
    if not draft.typed:
        return one
    value = draft.typed.get(one.name, "" if one.kind == "box" else one.value)
    return plan_models.Input(
        name=one.name, label=one.label, kind=one.kind, value=value, hint=one.hint, options=one.options,
        error=draft.errors.get(f"s-{one.name}", ""),
    )  # fmt: skip


def _arguments_hint(body: Mapping[str, Any], *, bound: bool) -> str:
    tool = tools.find(str(body.get("tool") or ""))
    names = list(tool.schema().get("properties", {})) if tool else []
    takes = f"It takes {', '.join(names)}. " if names else ""
    if bound and "group" not in body:
        return f"{takes}“${{steps.read.rows}}” stands for the result of an earlier step, “${{input.…}}” for the input."
    return takes.strip()


def _json(value: Any) -> str:
    return "" if value is None else plan_draft.pretty(value)


def _locked(standing: plan_changes.Standing | None) -> str:
    if standing is None or not standing.locked:
        return ""
    return (
        "It is over, so it stays as it is." if not standing.ahead else "It has started, so it stays as it is."
    )


def _words(body: Mapping[str, Any]) -> tuple[str, ...]:
    found = []
    if body.get("each"):
        found.append(f"For each of {tools.short(str(body['each']), SHORT)}")
    if body.get("if"):
        found.append(f"Only if {tools.short(str(body['if']), SHORT)}")
    retry = playbook_format.retry(body)
    if retry is not None:
        every = f", {retry[1]:g} s apart" if retry[1] else ""
        found.append(
            f"Tried up to {retry[0]} more time{'s' if retry[0] > 1 else ''}{every} if it didn't happen"
        )
    if body.get("compensate"):
        found.append("Taken back if a later step fails")
    if isinstance(body.get("ask"), Mapping):
        found.append(f"Asks a person: {tools.short(str(body['ask'].get('question') or ''), SHORT)}")
    if isinstance(body.get("finish"), Mapping):
        found.append("Ends the run")
    if body.get("note"):
        found.append(tools.short(str(body["note"]), SHORT))
    return tuple(found)


def _guard(body: Mapping[str, Any], name: str) -> str:
    guard = body.get(name)
    if not guard:
        return ""
    by = guard.get("by") if isinstance(guard, Mapping) else ""
    said = {
        plan_changes.GATE: ("Somebody is asked before this step", "{} wants to be asked before this step"),
        plan_changes.LOCK: ("The agent can't change it", "Locked by {}"),
    }[name]
    return said[1].format(by) if by else said[0]
