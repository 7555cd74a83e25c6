"""A database that isn't the one that was written to: nothing starts in it until a person says so."""

from __future__ import annotations

import datetime

from django.db import connection

from runs import lifecycle, models, rights
from runs.transitions import attempts, audit, clock_time, switches, texts
from runs.transitions.actor import ENGINE, Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale


def adopt(origin: str, *, before: str = "", why: str = "") -> bool:
    """Return whether this was noted as the database that the installation writes to, where `before` was noted."""
    with committing("adopt"):
        installation = models.Installation.objects.select_for_update(no_key=True).get(pk=1)
        if installation.system != before:
            return False
        installation.system = origin
        installation.save(update_fields=["system"])
        if before:
            audit.append("database.followed", actor=ENGINE, subject="installation",
                         content={"before": before, "after": origin, "why": why})  # fmt: skip
        return True


def found(origin: str, *, why: str) -> bool:
    """Stop every start of an effect, because the database was restored, copied or rolled back; say so once.

    What was lost had numbers, which are in its effects' keys, in links and in what programs keep: none is given anew.
    Return whether that is news. Like every switch it raises the gate's epoch, and takes effect before it returns.
    """
    with committing("restored"):
        installation = models.Installation.objects.select_for_update(no_key=True).get(pk=1)
        before = installation.system
        news = not installation.restored
        installation.system = origin
        if news:
            installation.restored = True
            installation.restored_at = clock_time.now()
            installation.restored_why = texts.storable(why)
            installation.gate_epoch += 1
            with connection.cursor() as cursor:
                cursor.execute("SELECT runs_skip_numbers()")
        installation.save(
            update_fields=["system", "restored", "restored_at", "restored_why", "gate_epoch"],
        )
        content = {"before": before, "after": origin, "why": why, "epoch": installation.gate_epoch}
        if news or before != origin:
            audit.append("database.restored", actor=ENGINE, subject="installation", content=content)
    if news:
        switches.interrupt("restored", ENGINE)
    return news


def keys_fit() -> bool:
    """Return whether the audit chain was sealed with the key that this process has, as far as it holds anything."""
    first = models.AuditEvent.objects.order_by("seq").first()
    return first is None or first.hash == audit.expected_hash(first)


@attempts.noted("database.release", "installation")
def release(*, reason: str, by: Actor) -> None:
    """Let effects start again. Refuses NotYours, Invalid without a reason, and Stale when nothing is to be released.

    What was approved before isn't simply sent: it may have been sent from the lost part of the history, so it is
    looked up, or a person is asked.
    """
    if by.user is None or not rights.may(by.user.roles(), rights.Act.SWITCH):
        raise NotYours("Only an administrator may release a restored database.")
    if not reason.strip():
        raise Invalid("Say why effects may start again; the reason stays in the record.")
    with committing("release_restored"):
        installation = models.Installation.objects.select_for_update(no_key=True).get(pk=1)
        if not installation.restored:
            raise Stale("The database isn't waiting for a release.")
        installation.restored = False
        installation.save(update_fields=["restored"])
        audit.append(
            "database.released", actor=by, subject="installation", content={"reason": reason.strip()}
        )
    switches.wake()


def suspect(action: models.Action, restored_at: datetime.datetime | None) -> bool:
    """Return whether an approved action may have been sent already, from a part of the history that was lost.

    Its work began before the database was found restored, and no intent has been written for it since. It need not
    have been proposed by then: the work may have come to it, and further, in what was lost.
    """
    if restored_at is None or action.status != lifecycle.Action.APPROVED:
        return False
    if action.created_at > restored_at and _began(action) > restored_at:
        return False
    since = models.Entry.objects.filter(
        run=action.run_id,
        kind=lifecycle.EntryKind.INTENT,
        position__gt=action.reply_position,
        created_at__gt=restored_at,
    )
    call = [action.reply_position, action.call_index]
    return not any(entry.content["call"] == call for entry in since)


def assume_sent(*, intent_of: models.Action, restored_at: datetime.datetime) -> None:
    """Let an intent just written stand for one that the lost part of the history may have held.

    It may have been sent as early as the action could be, so that is what the key's window counts from: since it was
    made, or since the last that is known of its run from before, where it was made anew.
    """
    assert intent_of.occurrence is not None
    earliest = intent_of.created_at
    if earliest > restored_at:
        known = models.Entry.objects.filter(run=intent_of.run_id, created_at__lte=restored_at)
        last = known.order_by("-position").values_list("created_at", flat=True).first()
        earliest = last or _began(intent_of)
    intent_of.occurrence.first_sent_at = earliest
    intent_of.occurrence.save(update_fields=["first_sent_at"])


def _began(action: models.Action) -> datetime.datetime:
    """Return when the first run of its lineage was started."""
    return models.Run.objects.values_list("root__created_at", flat=True).get(pk=action.run_id)
