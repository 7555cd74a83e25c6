"""Pause, resume and stop: what people do to a run from outside."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction

from runs import hints, lifecycle, models, rights
from runs.models.fields import values
from runs.transitions import attempts, audit, clock_time, failures, inbox, log, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale


@attempts.noted("run.pause", "run {}")
def pause(run_id: int, *, reason: str, by: Actor) -> models.Run:
    """Hold the run: at once if nobody works on it, else at the next safe point. Refuses Stale when it has ended."""
    user = _entitled(by, rights.Act.PAUSE, "pause")
    reason = texts.typed(reason, "reason")
    with committing("hold"):
        run = _lock_open(run_id)
        if run.hold_by_id is not None:
            raise Stale("This run is paused already.")
        if run.stop_at is not None:
            raise Stale("This run is being stopped.")
        now = clock_time.now()
        run.hold_by, run.hold_reason = user, reason
        run.hold_right = rights.ADMIN if rights.ADMIN in user.roles() else rights.OPERATOR
        run.remind_at = now + clock_time.seconds(settings.CKPTSITE["HOLD_REMIND"])
        run.save(update_fields=["hold_by", "hold_reason", "hold_right", "remind_at"])
        inbox.leave(run, models.Fact.Kind.HOLD, {"reason": run.hold_reason}, by=user, mover="P")
        if run.status == lifecycle.Run.QUEUED:
            run.status = log.moved(run.status, lifecycle.RUN_MOVES, lifecycle.Run.PAUSED, by="P")
            run.reason, run.wake_at = "held", None
            run.save(update_fields=["status", "reason", "wake_at"])
        audit.append(
            "run.paused", actor=by, run=run, subject=f"run {run.pk}", content={"reason": run.hold_reason}
        )
        hints.changed(run.pk)
        return run


def hold_new(run: models.Run, *, reason: str, by: Actor) -> None:
    """Hold a run that the caller's transaction has just made: it is built, and rests before anything starts.

    It stays queued until then; the engine's first safe point pauses it.
    """
    user = _entitled(by, rights.Act.PAUSE, "pause")
    run.hold_by, run.hold_reason, run.hold_right = user, reason, rights.OPERATOR
    run.remind_at = clock_time.now() + clock_time.seconds(settings.CKPTSITE["HOLD_REMIND"])
    run.save(update_fields=["hold_by", "hold_reason", "hold_right", "remind_at"])
    inbox.leave(run, models.Fact.Kind.HOLD, {"reason": reason}, by=user, mover="P")
    audit.append("run.paused", actor=by, run=run, subject=f"run {run.pk}", content={"reason": reason})


@attempts.noted("run.resume", "run {}")
def resume(run_id: int, *, by: Actor) -> models.Run:
    """Lift the hold; the run goes on from its newest checkpoint. Refuses NotYours and Stale."""
    user = _entitled(by, rights.Act.RESUME, "resume")
    with committing("resume"):
        run = _lock_open(run_id)
        if run.hold_by_id is None:
            raise Stale("This run isn't paused.")
        if run.hold_right == rights.ADMIN and rights.ADMIN not in user.roles():
            raise NotYours("An administrator paused this run, so an administrator has to resume it.")
        run.hold_by, run.hold_reason, run.hold_right, run.remind_at = None, "", "", None
        if run.status == lifecycle.Run.PAUSED:
            run.status = log.moved(run.status, lifecycle.RUN_MOVES, lifecycle.Run.QUEUED, by="P")
            run.reason, run.wake_at = "resumed", clock_time.now()
        run.save(
            update_fields=[
                "hold_by",
                "hold_reason",
                "hold_right",
                "remind_at",
                "status",
                "reason",
                "wake_at",
            ],
        )
        inbox.leave(run, models.Fact.Kind.RESUME, {}, by=user, mover="P")
        audit.append("run.resumed", actor=by, run=run, subject=f"run {run.pk}")
        hints.changed(run.pk)
        return run


@attempts.noted("run.stop", "run {}")
def stop(run_id: int, *, reason: str, by: Actor) -> models.Run:
    """End the run at its next safe point; what is under way finishes, nothing else starts. Refuses Invalid, Stale."""
    may_stop(by)
    reason = texts.typed(reason, "reason")
    if not reason:
        raise Invalid("Say why the run is stopped; the reason stays in its record.")
    with committing("stop"):
        run = _lock_open(run_id)
        if run.stop_at is not None:
            raise Stale("This run is being stopped already.")
        ask_stop(run, reason=reason, by=by)
        hints.changed(run.pk)
        return run


def stop_child(run_id: int) -> bool:
    """Return whether a run was told to stop because the one that handed it its work was, in the name of who said so."""
    with committing("stop_child"):
        run = inbox.lock(run_id)
        parent = run.parent
        if parent is None or parent.stop_by is None:
            return False
        if run.status == lifecycle.Run.FAILED:  # it isn't tried again: that is all that there is to stop
            return _leave_failed(run, by=parent.stop_by, parent=parent)
        if run.status in lifecycle.RUN_ENDED or run.stop_at is not None:
            return False
        reason = f"Run {parent.pk}, which handed this over, was stopped: {parent.stop_reason}"
        _write_stop(run, reason=reason, by=Actor(user=parent.stop_by, channel="engine"))
        hints.changed(run.pk)
        return True


def _leave_failed(run: models.Run, *, by: models.User, parent: models.Run) -> bool:
    """Return whether somebody was still asked if the locked failed run is tried again; nobody is any more."""
    if run.superseded_by_id is not None or not failures.close(run):
        return False
    content = {"reason": f"Run {parent.pk}, which handed this over, was stopped: {parent.stop_reason}"}
    actor = Actor(user=by, channel="engine")
    audit.append("run.left_failed", actor=actor, run=run, subject=f"run {run.pk}", content=content)
    hints.changed(run.pk, inbox=True)
    return True


def _stop_below(run_id: int) -> None:
    """Stop the children before the stop is acknowledged, and theirs; the clock finds who is left out in a crash."""
    children = models.Run.objects.filter(parent=run_id, superseded_by__isnull=True)
    ended = values(lifecycle.RUN_FINAL)
    for child in children.exclude(status__in=ended).order_by("pk").values_list("pk", flat=True):
        stop_child(child)


def may_stop(by: Actor) -> models.User:
    """Return who asks for a stop. Refuses NotYours without the right."""
    return _entitled(by, rights.Act.STOP, "stop")


def ask_stop(run: models.Run, *, reason: str, by: Actor) -> None:
    """Write the stop on a run that the caller's transaction has locked: open, and not being stopped yet."""
    may_stop(by)
    _write_stop(run, reason=reason, by=by)


def _write_stop(run: models.Run, *, reason: str, by: Actor) -> None:
    user = by.user
    run.stop_by, run.stop_reason, run.stop_at = user, reason, clock_time.now()
    run.hold_by, run.hold_reason, run.hold_right, run.remind_at = None, "", "", None
    if run.status == lifecycle.Run.PAUSED:
        run.status = log.moved(run.status, lifecycle.RUN_MOVES, lifecycle.Run.QUEUED, by="P")
        run.reason, run.wake_at = "stop", run.stop_at
    run.save(
        update_fields=["stop_by", "stop_reason", "stop_at", "hold_by", "hold_reason", "hold_right", "remind_at",
                       "status", "reason", "wake_at"],
    )  # fmt: skip
    inbox.leave(run, models.Fact.Kind.STOP, {"reason": run.stop_reason}, by=user, mover="P")
    audit.append(
        "run.stop_asked", actor=by, run=run, subject=f"run {run.pk}", content={"reason": run.stop_reason}
    )
    transaction.on_commit(lambda: _stop_below(run.pk))


def _entitled(by: Actor, act: rights.Act, word: str) -> models.User:
    user = by.user
    if user is None or not rights.may(user.roles(), act):
        raise NotYours(f"You may not {word} runs; {' or '.join(rights.holders(act))} can.")
    return user


def _lock_open(run_id: int) -> models.Run:
    run = inbox.lock(run_id)
    if run.status in lifecycle.RUN_ENDED:
        raise Stale("This run has ended.")
    return run
