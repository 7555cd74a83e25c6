"""Asking for an undo: of the lineage's live attempt, or of a new run of one step where none is live."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError

from runs import hints, lifecycle, models, rights
from runs.models import paths
from runs.tools import registry
from runs.transitions import attempts, audit, cuts, inbox, redrives, retention, texts, undoing
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale

CODE = "undoing"


@attempts.noted("effect.undo", "occurrence {}")
def ask(occurrence_id: int, *, reason: str, by: Actor, token: str) -> models.Run:
    """Return the run that is to take the effect back; nothing is taken back before policy and people let it.

    The same token again returns the same run. Refuses NotYours without the right, Invalid for what can't be taken
    back, and Stale for what is taken back already, or isn't known to stand.
    """
    user = by.user
    if user is None or not rights.may(user.roles(), rights.Act.UNDO):
        raise NotYours(f"You may not take this back; {' or '.join(rights.holders(rights.Act.UNDO))} can.")
    token, reason = texts.token(token), texts.typed(reason, "reason")
    if not texts.says(reason):
        raise Invalid("Say why it is taken back; the reason stays in its record.")
    root = models.Occurrence.objects.values_list("root_id", flat=True).get(pk=occurrence_id)
    try:
        with committing("undo"):
            current = _current(root)
            known = _repeated(current, user, token, occurrence_id)
            if known is not None:
                return known
            retention.refuse_sealed(current)
            row = _undoable(occurrence_id)
            if current.status not in lifecycle.RUN_ENDED:
                return _leave(current, row, reason=reason, by=by, token=token)
            return _one_step(current, row, user=user, reason=reason, by=by, token=token)
    except (IntegrityError, Stale) as error:
        # The same form sent twice at once: the other one may have made the run.
        made = _made(user, token, occurrence_id)
        if made is not None:
            return made
        if isinstance(error, Stale):
            raise
        raise Stale("Another attempt of this run has begun meanwhile; load the page again.") from error


def _undoable(occurrence_id: int) -> models.Occurrence:
    """Return the locked occurrence; refuse what can't be taken back, and what is being taken back."""
    rows = models.Occurrence.objects.select_for_update(no_key=True, of=("self",)).select_related("owner__run")
    row = rows.get(pk=occurrence_id)
    run = undoing.check(row)
    if run is not None:
        raise Stale(f"Run {run.pk} was asked to take this back already.")
    return row


def _current(root: int) -> models.Run:
    """Return the lineage's current attempt, locked; refuse (Stale) one that is about to end, or asks what next."""
    found = paths.current(root).first()
    if found is None:
        raise Invalid("This work has no live attempt.")
    run = inbox.lock(found.pk)
    if run.superseded_by_id is not None:
        raise Stale("Another attempt of this run has begun meanwhile; load the page again.")
    if run.status == lifecycle.Run.FAILED and _asks_what_next(run):
        raise Stale(f"Run {run.pk} has failed, and asks what next; answer that first, then take this back.")
    if run.status not in lifecycle.RUN_ENDED and run.stop_at is not None:
        raise Stale(f"Run {run.pk} is being stopped; take this back once it has ended.")
    return run


def _asks_what_next(run: models.Run) -> bool:
    asked = models.Review.objects.filter(
        run=run, kind=lifecycle.ReviewKind.FAILURE, status=lifecycle.Review.OPEN
    )
    return any("contradiction" not in review.content for review in asked)


def _repeated(current: models.Run, user: models.User, token: str, occurrence: int) -> models.Run | None:
    """Return what this form has led to before; refuse (Stale) somebody else's, or one about something else."""
    made = _made(user, token, occurrence)
    if made is not None:
        return made
    left = models.Fact.objects.filter(run=current, kind=models.Fact.Kind.UNDO, by=user).order_by("-number")
    mine = any(fact.content["token"] == token for fact in left[:20])
    return current if mine else None


def _made(user: models.User, token: str, occurrence: int) -> models.Run | None:
    """Return the run that this form has made; refuse (Stale) somebody else's, or one about something else."""
    made = models.Run.objects.filter(start_token=token).first()
    if made is None:
        return None
    first = models.Entry.objects.filter(run=made).order_by("position").first()
    if (
        made.created_by_id == user.pk
        and first is not None
        and first.content.get("undo_first") == [occurrence]
    ):
        return made
    raise Stale("This form was used already; load the page again.")


def _leave(run: models.Run, row: models.Occurrence, *, reason: str, by: Actor, token: str) -> models.Run:
    content = {"occurrence": row.pk, "reason": reason, "token": token}
    inbox.leave(run, models.Fact.Kind.UNDO, content, by=by.user, mover="P")
    audit.append(
        "effect.undo_asked",
        actor=by,
        run=run,
        subject=f"occurrence {row.pk}",
        content={"occurrence": row.pk, "reason": reason},
    )
    hints.changed(run.pk, inbox=True)
    return run


def _one_step(
    old: models.Run, row: models.Occurrence, *, user: models.User, reason: str, by: Actor, token: str
) -> models.Run:
    """Return the new attempt that takes back this effect and ends; it goes on from where the effect's run ended."""
    owner = row.owner.run
    number = cuts.next_number()
    old.superseded_by_id = number
    old.save(update_fields=["superseded_by"])
    new = cuts.branch(
        cuts.find(owner, owner.checkpoint_number),
        root=row.root_id,
        mode=models.Run.Mode.LIVE,
        code=CODE,
        title=texts.storable(f"Take back: {_what(row.owner)}", limit=200),
        user=user,
        token=token,
        reason=reason,
        input=None,
        content={"supersedes": old.pk, "undo_first": [row.pk]},
        number=number,
    )
    content: dict[str, Any] = {"supersedes": old.pk, "reason": reason, "occurrence": row.pk}
    redrives.record(new, by=by, act="run.undoing", content=content)
    hints.changed(old.pk, inbox=True)
    return new


def _what(action: models.Action) -> str:
    shown = action.preview or {}
    return str(shown.get("summary") or registry.get(action.tool).title or action.tool)
