"""Going on from a checkpoint: a new attempt in place of the old one, with what was wrong corrected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError

from runs import hints, lifecycle, models, rights
from runs.models import columns, paths
from runs.state import CallId
from runs.transitions import (
    attempts,
    audit,
    budgets,
    corrections,
    cuts,
    failures,
    holds,
    inbox,
    retention,
    rows,
    texts,
    undoing,
)
from runs.transitions import instructions as instructions_
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale

KEEP, AGAIN, UNDO_FIRST = "keep", "again", "undo_first"
DISPOSITIONS = (KEEP, AGAIN, UNDO_FIRST)
_CURRENT = "root_id = $1 AND mode = 'live' AND superseded_by_id IS NULL ORDER BY id DESC LIMIT 1"
HELD = "Its plan is changed before it goes on."


@attempts.noted("run.redrive", "run {}")
def redrive(
    run_id: int,
    *,
    checkpoint: int,
    reason: str,
    by: Actor,
    token: str,
    input: Mapping[str, Any] | None = None,
    arguments: Mapping[CallId, Any] | None = None,
    dispositions: Mapping[int, str] | None = None,
    instructions: str | None = None,
    raises: Mapping[str, int] | None = None,
    hold: bool = False,
    seen: int | None = None,
) -> models.Run:
    """Return the lineage's new attempt, queued; the same token again returns the run it made.

    It goes on from a checkpoint of the given run's path, takes the place of the lineage's current attempt (which is
    stopped if it hasn't ended), and starts once that one has ended and nothing of the lineage is open. What was done
    after the checkpoint isn't done again: it is absorbed when it is proposed, unless its occurrence is disposed of as
    `again`, which lets it happen once more, after a review, or as `undo_first`: then it is taken back before the new
    attempt does anything else. Other `instructions` are a version of the agent of their own, `raises` add to the
    lineage's limits, and with `hold` it rests before anything starts, so that its plan can be changed first.

    Refuses NotYours without the right, Invalid where checkpoint, input, arguments or dispositions don't fit, and
    Stale when another attempt than the one that was `seen` is the current one.
    """
    user = entitled(by)
    token, reason = texts.token(token), why(reason)
    run = columns.one(models.Run, "id = $1", run_id)
    known = columns.fetch(models.Run, "start_token = $1", [columns.word(token)])
    if known:
        return same(known[0], run.root_id, user)
    cut = cuts.find(run, checkpoint)
    corrected = corrections.input_of(input)
    disposed = _disposed(run.root_id, cut, dispositions or {})
    if hold and not cuts.planned(cut):
        raise Invalid("There is no plan at that checkpoint yet, so there is none to change first.")
    wishes = corrections.arguments_of(cut, arguments or {})
    columns.follow([cut.holder], "agent_version")
    columns.follow([cut.holder.agent_version], "agent")
    try:
        with committing("redrive"):
            old = _current(run.root_id, seen)
            retention.refuse_sealed(old)  # it may have been sealed since the cut was read
            # Reviews are locked before the agent, that before accounts; what is audited comes last.
            if old.status in lifecycle.RUN_ENDED:
                failures.close(old)
            version = instructions_.version_with(cut.holder.agent_version, instructions, by=user)
            told = instructions_.told(cut.holder.agent_version, version)
            budget = budgets.raise_lineage(old, raises or {}, by=by)
            number, before = cuts.next_number(), dict(old.__dict__)
            old.superseded_by_id = number
            rows.update(old, before)
            if old.status not in lifecycle.RUN_ENDED:
                _stop(old, number, reason=reason, by=by)
            new = cuts.branch(
                cut,
                root=run.root_id,
                mode=models.Run.Mode.LIVE,
                code="redriven",
                title=old.title,
                user=user,
                token=token,
                reason=reason,
                input=corrected,
                content={"supersedes": old.pk, "arguments": wishes, **disposed, **told},
                number=number,
                version=version,
                budget=budget if raises else None,
                parent=old.parent,
                handed_by=old.handed_by,
                returned=old.returned,
            )
            if hold:
                holds.hold_new(new, reason=HELD, by=by)
            record(new, by=by, act="run.redriven", content={"supersedes": old.pk, "reason": reason, **told})
            hints.changed(old.pk, inbox=True)
    except (IntegrityError, Stale):
        # The same form sent twice at once: the other one may have made the run.
        made = models.Run.objects.filter(start_token=token).first()
        if made is None:
            raise
        return same(made, run.root_id, user)
    return new


def entitled(by: Actor) -> models.User:
    """Return who wants to go on from a checkpoint. Refuses NotYours without the right."""
    user = by.user
    if user is None or not rights.may(user.roles(), rights.Act.REDRIVE):
        raise NotYours(
            f"You may not go on from a checkpoint; {' or '.join(rights.holders(rights.Act.REDRIVE))} can."
        )
    return user


def same(known: models.Run, root: int, user: models.User) -> models.Run:
    """Return the run that this form has made before; refuse (Stale) somebody else's or another lineage's form."""
    if known.created_by_id != user.pk or known.root_id != root or not known.path:
        raise Stale("This form was used already; load the page again.")
    return known


def record(run: models.Run, *, by: Actor, act: str, content: Mapping[str, Any]) -> None:
    """Write the audit event of a new branch and wake a worker for it."""
    told = {**content, "root": run.root_id, "input": run.input_digest, "path": run.path, "mode": run.mode,
            "budget": run.budget}  # fmt: skip
    audit.append(act, actor=by, run=run, subject=f"run {run.pk}", content=told)
    hints.wake(run.pk)
    hints.changed(run.pk)


def _current(root: int, seen: int | None) -> models.Run:
    """Return the lineage's current attempt, locked. Refuses Stale when it isn't the one that was seen."""
    found = columns.fetch(models.Run, _CURRENT, [columns.number(root)])
    if not found:
        raise Invalid("This lineage has no live attempt that another could take the place of.")
    old = inbox.lock(found[0].pk)
    if old.superseded_by_id is not None or (seen is not None and old.pk != seen):
        raise Stale(
            f"Run {old.superseded_by_id or old.pk} has taken over from here already; look at it before you go on."
        )
    return old


def _stop(old: models.Run, number: int, *, reason: str, by: Actor) -> None:
    """Stop the locked old attempt, which goes on."""
    if old.stop_at is None:
        holds.ask_stop(old, reason=f"Run {number} takes over: {reason}", by=by)


def why(text: str) -> str:
    """Return the reason; refuse (Invalid) none."""
    reason = texts.typed(text, "reason")
    if not texts.says(reason):
        raise Invalid("Say why it goes on from there; the reason stays in its record.")
    return reason


def _disposed(root: int, cut: cuts.Cut, dispositions: Mapping[int, str]) -> dict[str, Any]:
    """Return the occurrences that may happen once more, none used yet, and those that are taken back first."""
    waivers: dict[str, None] = {}
    undo_first: list[int] = []
    for number, disposition in sorted(dispositions.items()):
        if disposition not in DISPOSITIONS:
            raise Invalid(f"{disposition!r} is no answer to what becomes of an earlier effect.")
        if disposition == KEEP:
            continue
        rows = models.Occurrence.objects.select_related("owner")
        occurrence = rows.filter(pk=number, root=root).first()
        if occurrence is None or paths.uses(cut.path, None, occurrence):
            raise Invalid(f"The effect {number} isn't one of this lineage after that checkpoint.")
        if disposition == UNDO_FIRST:
            undoing.check(occurrence)
            undo_first.append(number)
            continue
        if occurrence.owner.undo_of_id is not None:
            raise Invalid(
                f"The effect {number} took something back; only what it took back can be done again."
            )
        if occurrence.state != lifecycle.Occurrence.STANDING:
            raise Invalid(
                f"It isn't known that the effect {number} stands, so it can't be done again; settle it first."
            )
        waivers[str(number)] = None
    return {"waivers": waivers} | ({"undo_first": undo_first} if undo_first else {})
