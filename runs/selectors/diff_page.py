"""What is different between two checkpoints of a lineage: section by section, in words, and as a JSON Patch."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.db.models import F, Q

from runs import alignment, exact, models, patches, wording
from runs.models import cuts
from runs.selectors import checkpoint_names, documents, inspect_models
from runs.selectors.patch_words import place

SECTIONS = (
    ("plan", "Plan"),
    ("input", "Input"),
    ("arguments", "Arguments"),
    ("results", "Results"),
    ("budget", "Budget"),
    ("effects", "Effects"),
)
SHOWN = 60
"""Changes of one section that the page holds; the patch has them all."""
VALUE = 3_000
COPIED = 60_000
LISTED = 60
ATTEMPTS = 8


def named(run: models.Run, text: str) -> cuts.Cut | None:
    """Return the checkpoint that `7` (of this run's path) or `12.7` (of run 12's) names, if the lineage has it."""
    other, dot, number = text.rpartition(".")
    if not _number(number) or (dot and not _number(other)):
        return None
    holder = run
    if dot and int(other) != run.pk:
        found = models.Run.objects.filter(pk=int(other)).first()
        if found is None or not cuts.shared(cuts.of(found), cuts.of(run)):
            return None
        holder = found
    return cuts.find(holder, int(number))


def _number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10


def page(run: models.Run, params: Mapping[str, str]) -> inspect_models.DiffPage:
    """Return the page for the checkpoints `a` and `b`; without them the newest and the one before."""
    a, b = pair(run, params)
    split = params.get("view") == "split"
    listed, named = _listed(run, [cut for cut in (a, b) if cut is not None])
    if a is None or b is None:
        return inspect_models.DiffPage(
            run_id=run.pk, run_title=run.title, split=split, groups_a=_groups(run, listed, a, named),
            groups_b=_groups(run, listed, b, named), error="There is no such pair of checkpoints in this lineage.",
        )  # fmt: skip
    effort = alignment.Effort()
    one, other = documents.pair(a, b)
    found = patches.changes(one.value, other.value, effort=effort)
    text = exact.canonical(patches.patch(found), limit=None)
    return inspect_models.DiffPage(
        run_id=run.pk,
        run_title=run.title,
        groups_a=_groups(run, listed, a, named),
        groups_b=_groups(run, listed, b, named),
        a=_side(run, a, named),
        b=_side(run, b, named),
        split=split,
        query=urlencode({"a": value(run, a), "b": value(run, b)}),
        sections=tuple(_sections(found, {**one.labels, **other.labels}, other.value, effort)),
        total=len(found),
        patch=text if len(text) <= COPIED else "",
        whole=one.whole and other.whole,
        short=effort.short,
    )


def pair(run: models.Run, params: Mapping[str, str]) -> tuple[cuts.Cut | None, cuts.Cut | None]:
    """Return the two checkpoints that are asked for."""
    second = params.get("b") or str(run.checkpoint_number)
    b = named(run, second)
    if "a" in params:
        return named(run, params["a"]), b
    return (None if b is None else cuts.find(b.run, max(1, b.number - 1))), b


def patch(a: cuts.Cut, b: cuts.Cut) -> str | None:
    """Return the JSON Patch that makes the state at `b` of the one at `a`; None where it would leave something out."""
    one, other = documents.pair(a, b)
    if not (one.whole and other.whole):
        return None
    return exact.canonical(patches.patch(patches.changes(one.value, other.value)), limit=None)


def value(run: models.Run, cut: cuts.Cut) -> str:
    """Return how a checkpoint is named on the pages of a run."""
    return str(cut.number) if cut.run.pk == run.pk else f"{cut.run.pk}.{cut.number}"


def _side(run: models.Run, cut: cuts.Cut, named: Mapping[int, str]) -> inspect_models.Side:
    return inspect_models.Side(
        run_id=cut.run.pk,
        number=cut.number,
        own=cut.run.pk == run.pk,
        words=named[cut.line.pk],
        at=cut.line.created_at,
    )


def _sections(
    found: Sequence[patches.Change],
    labels: Mapping[str, str],
    after: Mapping[str, Any],
    effort: alignment.Effort,
) -> Any:
    titles = [step["title"] for step in after["plan"]["steps"]]
    by_section = {
        name: list(rows) for name, rows in itertools.groupby(found, key=lambda change: change.path[0])
    }
    for name, title in SECTIONS:
        rows = by_section.get(name, [])
        yield inspect_models.DiffSection(
            name=name,
            title=title,
            rows=tuple(_row(change, _place(change, labels, titles), effort) for change in rows[:SHOWN]),
            count=len(rows),
        )


def _place(change: patches.Change, labels: Mapping[str, str], titles: Sequence[str]) -> str:
    """Return where the change is; a step that is no longer there, or is new, goes by its own title."""
    value = change.before if change.op == patches.REMOVE else change.after
    if change.path[:2] == ("plan", "steps") and len(change.path) == 3 and isinstance(value, Mapping):
        return str(value["title"])
    return place(change.path[1:], labels, titles)


def _row(change: patches.Change, where: str, effort: alignment.Effort) -> inspect_models.ChangeRow:
    before, after = change.before, change.after
    if change.op == patches.MOVE:
        was, now = change.places
        return inspect_models.ChangeRow(
            op=change.op, place=where, before=f"from place {was:,}", after=f"to place {now:,}"
        )
    if change.op == patches.REPLACE and isinstance(before, str) and isinstance(after, str):
        return inspect_models.ChangeRow(
            op=change.op, place=where, words=wording.rows(before, after, effort=effort)[:SHOWN]
        )
    old = "" if change.op == patches.ADD else exact.canonical(before, limit=None)
    new = "" if change.op == patches.REMOVE else exact.canonical(after, limit=None)
    return inspect_models.ChangeRow(
        op=change.op, place=where, before=old[:VALUE], after=new[:VALUE], cut=max(len(old), len(new)) > VALUE
    )


Listed = Sequence[tuple[models.Run, dict[int, int]]]


def _listed(run: models.Run, chosen: Sequence[cuts.Cut]) -> tuple[Listed, Mapping[int, str]]:
    """Return this attempt and the newest others of its lineage, each with the lines of its newest checkpoints by their
    numbers; and the words of all these lines and of those of the chosen. A fixed number of queries.
    """
    others = list(
        models.Run.objects.filter(root=run.root_id).exclude(pk=run.pk).order_by("-pk")[: ATTEMPTS - 1]
    )
    path = {int(ancestor): int(last) for ancestor, last in cuts.of(run)}
    newest = Q(cuts.on(path.items()), number__gt=run.checkpoint_number - LISTED)
    newest |= Q(run__in=others, number__gt=F("run__checkpoint_number") - LISTED)
    found: dict[int, dict[int, int]] = {attempt.pk: {} for attempt in (run, *others)}
    rows = list(models.Checkpoint.objects.filter(newest).order_by("-number").defer("content", "counters"))
    for row in rows:
        holder, number = row.run_id, row.number or 0
        if row.position <= path.get(holder, 0):
            found[run.pk][number] = row.pk
        if holder != run.pk and holder in found:
            found[holder][number] = row.pk
    named = checkpoint_names.of([*rows, *(cut.line for cut in chosen)])
    return [(attempt, found[attempt.pk]) for attempt in (run, *others)], named


def _groups(
    run: models.Run, listed: Listed, chosen: cuts.Cut | None, named: Mapping[int, str]
) -> tuple[inspect_models.Group, ...]:
    """Return the checkpoints to choose from, with the chosen one among them."""
    found = []
    for attempt, known in listed:
        numbers = dict(known)
        if chosen is not None and chosen.run.pk == attempt.pk:
            numbers.setdefault(chosen.number, chosen.line.pk)
        prefix = "" if attempt.pk == run.pk else f"{attempt.pk}."
        mode = ", dry run" if attempt.mode == models.Run.Mode.DRY_RUN else ""
        picks = tuple(
            inspect_models.Pick(
                value=f"{prefix}{number}",
                label=f"{number}, {named[line]}",
                chosen=chosen is not None and (chosen.run.pk, chosen.number) == (attempt.pk, number),
            )
            for number, line in sorted(numbers.items(), reverse=True)
        )
        found.append(inspect_models.Group(label=f"Run {attempt.pk}{mode}", picks=picks))
    return tuple(found)
