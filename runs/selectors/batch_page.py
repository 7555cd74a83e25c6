"""Many questions on one page: those of one shape side by side, with only what differs; a fixed number of queries."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from runs import exact, json_lines, lifecycle, models
from runs.models import scopes
from runs.selectors import (
    batch_models,
    deciding,
    inbox_rows,
    ledger,
    now,
    page_models,
    review_before,
    review_files,
    review_outcome,
    review_parts,
    reviews,
    tools,
)

MOST_SHOWN = 50
WHOLE = 200
"""So many lines of arguments are shown unfolded."""
SHORT = 300
"""Where a value has more than this, each question is opened before it is ticked."""
GLANCE = 80
"""So much of a value stands in the table, where each is opened; else a longer one gets more width."""
MARK = "."
EMPTY = "(empty)"
Place = tuple[str, ...]
"""The names that lead to one argument."""


def page(
    viewer: deciding.Viewer,
    review_ids: Sequence[int],
    *,
    most: Mapping[int, int],
    ticked: Mapping[int, str] | None = None,
    back: str = "",
) -> batch_models.BatchPage:
    """Return the questions in their groups; `most` is by tier how many may be approved at once.

    `ticked` are those of a form that was refused, with what it showed: what has changed since isn't ticked any more.
    """
    rows = _read(viewer, review_ids)
    arguments = ledger.arguments([row.action for row in rows if row.action], largest=inbox_rows.LARGE)
    others = deciding.held_by_others(viewer.user)
    written = deciding.written_by(viewer.user, rows)
    groups: dict[tuple[str, int], list[Any]] = {}
    alone = []
    for row in rows:
        why = _alone(row, viewer, arguments, others=others, written=written)
        if why:
            alone.append(_single(row, why))
        else:
            groups.setdefault((row.shape, row.tier), []).append(row)
    return batch_models.BatchPage(
        groups=tuple(
            _group(number, rows, arguments, most=most, ticked=ticked)
            for number, rows in enumerate(groups.values(), start=1)
        ),
        alone=tuple(alone),
        asked=tuple(review_ids[:MOST_SHOWN]),
        back=back,
    )


def report(
    viewer: deciding.Viewer, refused: Mapping[int, str], *, others: Sequence[int] = (), back: str = ""
) -> batch_models.Report:
    """Return what became of each question; `refused` has the reason of those that were not decided, else nothing."""
    return batch_models.Report(
        lines=tuple(_line(row, viewer, refused[row.pk]) for row in _read(viewer, list(refused))),
        others=tuple(others),
        back=back,
    )


def marked(review: models.Review) -> str:
    """Return what a form carries of a question: what it showed."""
    parts = (review.revision, review.digest, review.evidence_number, review.tightened)
    return MARK.join(str(part) for part in parts)


def _read(viewer: deciding.Viewer, review_ids: Sequence[int]) -> list[Any]:
    seen = scopes.seen(viewer.user, "run__agent_version__agent")
    rows = models.Review.objects.filter(seen, pk__in=list(dict.fromkeys(review_ids))[:MOST_SHOWN])
    rows = rows.select_related("run__agent_version__agent", "action__occurrence").order_by("due_at", "pk")
    return list(rows.annotate(now=now.ClockNow()))


def _alone(
    row: Any,
    viewer: deciding.Viewer,
    arguments: Mapping[int, Any],
    *,
    others: frozenset[str],
    written: Collection[int],
) -> str:
    """Return why this question isn't decided together with others, or nothing."""
    if row.status != lifecycle.Review.OPEN:
        return "It is no longer asked."
    if deciding.blocked(row, viewer):
        return "It isn't yours to decide."
    if row.kind != lifecycle.ReviewKind.ACTION:
        return "Only approvals of actions can be given together."
    if row.tier >= inbox_rows.ALONE:
        return "What can't be undone is decided by itself."
    if row.digest != row.action.approval_digest:
        return "It was changed; what will happen is being worked out."
    if why := deciding.approval_blocked(row, viewer, others=others, written=frozenset(written)):
        return why
    content = row.content or {}
    if content.get("deviation") or content.get("before"):
        return "It is none of the plan's steps, or the world has changed since; look at it by itself."
    if review_before.marked(row):
        return "The same may have been done before, or is asked about twice; look at both."
    if row.shape is None or row.action_id not in arguments:
        return "It is too large to be compared, or was asked before this was possible."
    text = exact.text_of(arguments[row.action_id])
    if exact.digest(text) != row.action.digest:
        return "Its stored arguments are not those that were proposed."
    if len(json_lines.lines(text)) > WHOLE:
        return "Its arguments are too long to be read beside others."
    return ""


def _single(row: Any, why: str) -> batch_models.Alone:
    return batch_models.Alone(
        review_id=row.pk, effect=inbox_rows.effect_of(row), tier=row.tier, kind=row.kind, why=why
    )


def _group(
    number: int,
    rows: Sequence[Any],
    arguments: Mapping[int, Any],
    *,
    most: Mapping[int, int],
    ticked: Mapping[int, str] | None,
) -> batch_models.Group:
    first = rows[0]
    parts = {row.pk: dict(_parts((), arguments[row.action_id])) for row in rows}
    names = list(dict.fromkeys(name for held in parts.values() for name in held))
    told = {name: {exact.canonical(held.get(name), limit=None) for held in parts.values()} for name in names}
    decisive = set(tools.telling(first.action.tool))
    names.sort(key=lambda name: not decisive.intersection(name[:1]))  # what is decisive stands first
    columns = [name for name in names if len(told[name]) > 1]
    limit = most.get(first.tier, 0)
    pairs = {row.pk: _pairs(parts[row.pk], columns) for row in rows}
    long = any(len(value) > SHORT for held in pairs.values() for _, value in held)
    opened = long or first.tier >= 2
    return batch_models.Group(
        number=number,
        tool=tools.title(first.action.tool),
        tier=first.tier,
        most=limit,
        columns=tuple(_label(name) for name in columns),
        same=tuple(
            page_models.Fact(label=_label(name), value=tools.plain(parts[first.pk].get(name)) or EMPTY)
            for name in names
            if name not in columns
        ),
        items=tuple(
            _item(
                row,
                arguments,
                pairs[row.pk],
                ticked=ticked,
                at_first=not opened and at < limit,
                opened=opened,
            )
            for at, row in enumerate(rows)
        ),
        reason_required=any(row.reason_required or row.tier >= inbox_rows.ALONE for row in rows),
        each_opened=opened,
        undo_seconds=max(row.undo_seconds for row in rows),
    )


def _item(
    row: Any,
    arguments: Mapping[int, Any],
    pairs: tuple[tuple[str, str], ...],
    *,
    ticked: Mapping[int, str] | None,
    at_first: bool,
    opened: bool,
) -> batch_models.Item:
    mark, value = marked(row), arguments[row.action_id]
    was = (ticked or {}).get(row.pk)
    shown = review_parts.preview(row, row.action)
    return batch_models.Item(
        review_id=row.pk,
        effect=inbox_rows.effect_of(row),
        run_title=row.run.title,
        cells=tuple(_cell(name, text, opened=opened) for name, text in pairs),
        preview=replace(shown, attachments=review_files.attachments(value)),
        arguments=exact.text_of(value),
        digest=row.action.digest,
        decisive=tools.decisive(row.action.tool),
        seen=f"{mark}{MARK}{secrets.token_urlsafe(18)}",
        ticked=was == mark if ticked is not None else at_first,
        changed=was is not None and was != mark,
    )


def _cell(column: str, text: str, *, opened: bool) -> batch_models.Cell:
    """Return a value of the table; where each question is opened it is read there, and begins here."""
    if opened:
        return batch_models.Cell(
            column=column, text=tools.short(" ".join(text.split()), GLANCE), long=False, whole=""
        )
    return batch_models.Cell(
        column=column,
        text=tools.short(text, SHORT),
        long="\n" in text or len(text) > GLANCE,
        whole=text if len(text) > SHORT else "",
    )


def _label(place: Place) -> str:
    return tools.label(" / ".join(place))


def _pairs(held: Mapping[Place, Any], columns: Sequence[Place]) -> tuple[tuple[str, str], ...]:
    return tuple((_label(name), tools.plain(held.get(name, "")) or EMPTY) for name in columns)


def _parts(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    """Return the places of the arguments with their values; a list is one value."""
    if isinstance(value, Mapping) and value:
        for name in sorted(value):
            yield from _parts((*place, str(name)), value[name])
    else:
        yield place, value


def _line(row: Any, viewer: deciding.Viewer, why: str) -> batch_models.Line:
    words = {lifecycle.Review.APPROVED: "Approved", lifecycle.Review.REJECTED: "Rejected"}
    counted = f"Your approval is counted: {row.votes} of {row.quorum}"
    left = reviews.undo_left(row, viewer) if not why else 0.0
    return batch_models.Line(
        review_id=row.pk,
        effect=inbox_rows.effect_of(row),
        done=not why,
        words=why or words.get(row.status, counted if row.votes else "Decided"),
        undo_left=left,
        came=review_outcome.came(row, undo_left=left) if not why else None,
    )
