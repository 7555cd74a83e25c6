"""What a dry run would have done, and whom it would have asked, under the policy of that moment: page and files."""

from __future__ import annotations

import csv
import io
import json
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from runs import lifecycle, models, rights
from runs.models import paths
from runs.selectors import cells, deciding, now, page_models, run_header, run_models, tools

SHOWN, MOST = 200, 10_000
NOTHING = "Dry run: nothing of this was done."
_SUM = re.compile(r"(-?\d[\d,]*(?:\.\d+)?) ([A-Z]{3})")
_CLOSED = (lifecycle.Action.SIMULATED, lifecycle.Action.DENIED, lifecycle.Action.ABSORBED)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing that the dry run came to. `verdict` is ask, alone, refused, question or before."""

    position: int
    what: str
    tool: str
    verdict: str
    asks: str  # whom, how many and under which rule; why it is refused
    why: str = ""
    target: str = ""
    money: str = ""
    tier: int | None = None
    facts: tuple[page_models.Fact, ...] = ()
    body: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Over the whole dry run."""

    effects: int
    by_tool: tuple[tuple[str, int], ...]
    money: tuple[str, ...]
    asked: int
    alone: int
    refused: int
    questions: int
    groups: tuple[tuple[str, int], ...]  # who would be asked how often
    turns: int
    calls: int
    tokens: int
    cost: page_models.Amount | None


@dataclass(frozen=True, kw_only=True)
class Page:
    header: run_models.RunHeader
    over: bool
    plan: str  # who would read the plan first
    lines: tuple[Line, ...]
    left: int  # lines that only the files hold
    totals: Totals
    may_start: bool  # this whole run, for real
    token: str


def page(run: models.Run, viewer: deciding.Viewer) -> Page:
    """Return the report as far as the dry run has come; its first lines, and totals of all."""
    found = list(lines(run))
    return Page(
        header=run_header.header(run, viewer, tab="run-dry"),
        over=run.status in lifecycle.RUN_ENDED,
        plan=_plan(run),
        lines=tuple(found[:SHOWN]),
        left=max(0, len(found) - SHOWN),
        totals=_totals(run, found),
        may_start=not run.path and viewer.may(rights.Act.START),
        token=secrets.token_urlsafe(24),
    )


def lines(run: models.Run) -> Iterator[Line]:
    """Yield what the run's own log says of each effect and question, in order; at most `MOST`."""
    results = models.Entry.objects.filter(run=run, kind=lifecycle.EntryKind.RESULT).order_by("position")
    actions = {
        (row.reply_position, row.call_index): row
        for row in models.Action.objects.filter(run=run).only("reply_position", "call_index", "tool", "rule")
    }
    for entry in results.values_list("position", "content")[:MOST].iterator(chunk_size=500):
        position, content = entry
        line = _line(position, content, actions.get((content["call"][0], content["call"][1])))
        if line is not None:
            yield line


def as_csv(run: models.Run) -> Iterator[bytes]:
    """Yield the report as a table; every row says that nothing was done."""
    names = ("dry run", "line", "verdict", "what", "target", "money", "tool", "tier", "asks", "why", "text")
    yield ("\ufeff" + _row(names)).encode()
    for line in lines(run):
        row = (NOTHING, line.position, line.verdict, line.what, line.target, line.money, line.tool,
               "" if line.tier is None else line.tier, line.asks, line.why, line.body)  # fmt: skip
        yield _row([cells.safe(str(value)) for value in row]).encode("utf-8", "replace")


def as_json(run: models.Run) -> bytes:
    """Return the report as one object, with its totals."""
    found = list(lines(run))
    report = {
        "dry_run": True,
        "note": NOTHING,
        "run": run.pk,
        "agent": run.agent_version.agent.name,
        "status": run.status,
        "plan": _plan(run),
        "totals": asdict(_totals(run, found)),
        "lines": [asdict(line) for line in found],
    }
    return json.dumps(report, default=str, indent=1).encode()


def _line(position: int, content: Mapping[str, Any], action: models.Action | None) -> Line | None:
    status, would = content.get("status"), content.get("would") or {}
    if "question" in would:
        supposed = f"; supposed here: {tools.plain(content.get('value'))}" if would["supposed"] else ""
        return Line(
            position=position,
            what=str(would["question"]),
            tool="Question",
            verdict="question",
            asks=f"{_whom(would)}{supposed}",
        )
    if action is None or status not in _CLOSED:
        return None
    tool, shown = tools.title(action.tool), would.get("preview") or {}
    value: Mapping[str, Any] = found if isinstance(found := content.get("value"), Mapping) else {}
    what = str(shown.get("summary") or value.get("summary") or tool)
    if status == lifecycle.Action.ABSORBED:
        return Line(
            position=position, what=what, tool=tool, verdict="before", asks="Done before; not done again"
        )
    verdict = "refused" if status == lifecycle.Action.DENIED else "ask" if _asks(would, value) else "alone"
    return Line(
        position=position,
        what=what,
        tool=tool,
        verdict=verdict,
        asks=_said(verdict, would, value, action, str(content.get("text") or "")),
        why=str(would.get("why") or "") if verdict == "ask" else "",
        target=str(shown.get("target") or ""),
        money=str(shown.get("money") or ""),
        tier=would.get("tier"),
        facts=tuple(
            page_models.Fact(label=str(name), value=str(said)) for name, said in shown.get("facts") or ()
        ),
        body=str(shown.get("body") or ""),
        warnings=tuple(map(str, shown.get("warnings") or ())),
    )


def _asks(would: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    return (would.get("verdict") or value.get("verdict")) == "review"


def _said(
    verdict: str, would: Mapping[str, Any], value: Mapping[str, Any], action: models.Action, text: str
) -> str:
    rule = str(would.get("rule") or value.get("rule") or action.rule)
    if verdict == "refused":
        return text or f"Refused by the rule “{rule}”"
    if verdict == "alone":
        return f"Nobody is asked: the rule “{rule}” allows it" if rule else "Nobody is asked"
    return _whom({**would, "rule": rule})


def _whom(would: Mapping[str, Any]) -> str:
    terms = would.get("terms") or {}
    groups, quorum = terms.get("groups") or ["reviewer"], int(terms.get("quorum") or 1)
    people = f"{quorum} people of " if quorum > 1 else ""
    other = ", not whoever started it" if terms.get("separation") else ""
    rule = f", by the rule “{would['rule']}”" if would.get("rule") else ""
    return f"Asks {people}{' or '.join(groups)}{other}{rule}"


def _plan(run: models.Run) -> str:
    version = run.plan_version
    if not run.agent_version.approve_plan or not version:
        return ""
    plan = paths.plan(run, version)
    steps = len(plan.steps) if plan is not None else 0
    return f"Its plan of {steps} steps would be read and approved by a reviewer before anything starts."


def _totals(run: models.Run, found: Iterable[Line]) -> Totals:
    done: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    groups: Counter[str] = Counter()
    sums: dict[str, Decimal] = {}
    for line in found:
        verdicts[line.verdict] += 1
        if line.verdict in {"ask", "question"}:
            groups[line.asks.partition(";")[0]] += 1
        if line.verdict in {"ask", "alone"}:
            done[line.tool] += 1
            if (amount := _SUM.fullmatch(line.money)) is not None:
                currency = amount[2]
                sums[currency] = sums.get(currency, Decimal()) + Decimal(amount[1].replace(",", ""))
    return Totals(
        effects=done.total(),
        by_tool=tuple(done.most_common()),
        money=tuple(f"{amount} {currency}" for currency, amount in sorted(sums.items())),
        asked=verdicts["ask"],
        alone=verdicts["alone"],
        refused=verdicts["refused"],
        questions=verdicts["question"],
        groups=tuple(groups.most_common()),
        turns=run.steps,
        calls=run.calls,
        tokens=run.tokens_in + run.tokens_out,
        cost=now.dollars(run.cost_micro, known=run.cost_known),
    )


def _row(values: Iterable[object]) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerow(values)
    return out.getvalue()
