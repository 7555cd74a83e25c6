"""Records of runs that other sites carried out: found by number and title, and read from their lines."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from django.db.models import Q, QuerySet

from runs import lifecycle, models
from runs.selectors import keyset, page_models, run_asked, run_log, run_models, run_timeline, run_words

SIZE, LINES = 50, 100
LONGEST = 1_000
_KIND = lifecycle.EntryKind
_OUTCOME = ~Q(kind=_KIND.RESULT) | Q(content__contains='"outcome":')
"""Of results, those of a call that had an intent, and so say how it came out."""
ONLY: dict[str, tuple[str, Q]] = {
    "effects": ("Effects", Q(kind__in=(_KIND.INTENT, _KIND.RECEIPT, _KIND.RESULT)) & _OUTCOME),
    "decisions": ("Decisions", Q(kind__in=(_KIND.VERDICT, _KIND.REVISION, _KIND.DECISION))),
}
_NO_RULE = "Allowed by the rule “”."


@dataclass(frozen=True, kw_only=True)
class ListPage:
    """Records, the newest first."""

    rows: tuple[models.ImportedRun, ...]
    page: page_models.Page
    q: str


@dataclass(frozen=True, kw_only=True)
class RecordPage:
    """One record, with one page of its lines."""

    run: models.ImportedRun
    begun: datetime.datetime | None  # there
    ended: datetime.datetime | None
    filters: tuple[page_models.Choice, ...]
    items: tuple[run_models.TimelineItem, ...]
    page: page_models.Page


def listed(params: Mapping[str, str]) -> ListPage:
    """Return one page of the records that `params` asks for."""
    q = params.get("q", "").replace("\x00", "").strip()
    rows = models.ImportedRun.objects.select_related("imported_by").defer("about")
    if q:
        found = Q(title__icontains=q)
        number = q.removeprefix("#")
        if number.isascii() and number.isdigit() and len(number) < 19:
            found |= Q(number=int(number)) | Q(pk=int(number))
        rows = rows.filter(found)
    shown, paging = keyset.page(rows, by=("id",), params=params, size=SIZE, keep={"q": q} if q else None)
    return ListPage(rows=tuple(shown), page=paging, q=q)


def find(number: int) -> models.ImportedRun | None:
    """Return a record, or None where there is none."""
    return models.ImportedRun.objects.select_related("imported_by").filter(pk=number).first()


def text(run: models.ImportedRun, position: int) -> models.ImportedLine | None:
    """Return one line of a record, or None where it has none at this place."""
    return run.entries.filter(position=position).first()


def record(run: models.ImportedRun, params: Mapping[str, str]) -> RecordPage:
    """Return a record with the lines that `params` asks for, the newest first."""
    only = params.get("only", "") if params.get("only") in ONLY else ""
    rows = run.entries.filter(ONLY[only][1]) if only else run.entries.all()
    shown, paging = keyset.page(
        _cut(rows),
        by=("position",),
        params=params,
        size=LINES,
        keep={"only": only} if only else None,
        total=None if only else run.lines,
    )
    lines = [run_log.line(row) for row in shown]
    names = _names(run, lines)
    starter = "somebody there"
    return RecordPage(
        run=run,
        begun=_moment(run.about.get("created_at")),
        ended=_moment(run.about.get("ended_at")),
        filters=tuple(
            page_models.Choice(label=label, query=f"only={name}" if name else "", current=name == only)
            for name, label in (("", "Everything"), *((name, label) for name, (label, _) in ONLY.items()))
        ),
        items=tuple(
            run_timeline.item(line, _said(run_words.said(line, names, agent=run.agent, starter=starter)))
            for line in lines
        ),
        page=paging,
    )


def _moment(told: object) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(str(told)).astimezone(datetime.UTC)
    except (OverflowError, ValueError):
        return None


def _short(text: str) -> str:
    """Return the beginning of a text; the whole stands at its line."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _said(said: run_asked.Said) -> run_asked.Said:
    """Return the words without what only a run of this site has."""
    return replace(said, review_id=None, text="" if said.text == _NO_RULE else _short(said.text))


def _cut(rows: QuerySet[models.ImportedLine]) -> QuerySet[models.Entry]:
    return run_log.cut(cast("QuerySet[models.Entry]", rows))


def _names(run: models.ImportedRun, lines: Iterable[run_log.Line]) -> run_log.Names:
    """Return what the lines speak of, as far as the lines themselves tell it: two queries."""
    found = list(lines)
    wanted = {call[0] for line in found if (call := line.call)} | {line.position for line in found}
    kinds = (_KIND.REPLY, _KIND.CALL)
    proposed = [run_log.line(row) for row in _cut(run.entries.filter(position__in=wanted, kind__in=kinds))]
    actions = {
        (line.position, index): models.Action(
            tool=str(call.get("tool") or ""), step=str(call.get("step") or ""), revision=1
        )
        for line in proposed
        for index, call in enumerate(
            line.content.get("calls", []) if line.kind == _KIND.REPLY else [line.content]
        )
        if isinstance(call, dict)
    }
    plan = _cut(run.entries.filter(kind=_KIND.PLAN)).order_by("-position").first()
    steps = run_log.line(plan).content.get("steps") if plan is not None else None
    return run_log.Names(
        actions=actions,
        steps={
            str(step.get("id")): str(step.get("title") or "")
            for step in (steps if isinstance(steps, list) else ())
            if isinstance(step, dict)
        },
        reviews={},
        people={},
        together={},
        dry_run=run.about.get("mode") == models.Run.Mode.DRY_RUN,
    )
