"""Checking the audit chain on request: asked for by auditors, done by the clock in pieces, so that no page waits."""

from __future__ import annotations

from runs import models, rights
from runs.transitions import attempts, audit, clock_time
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import NotYours, Stale

BATCH = 2_000
"""So many lines are checked between two looks of the clock at everything else."""


@attempts.noted("audit.check", "audit chain")
def ask(*, whole: bool, by: Actor) -> models.ChainCheck:
    """Return the new check: of the whole chain, or on from where the last one that agreed has ended.

    Refuses NotYours without the right, and Stale while one is under way.
    """
    if by.user is None or not rights.may(by.user.roles(), rights.Act.AUDIT):
        raise NotYours("You may not check the audit trail; an auditor can.")
    with committing("ask_check"):
        models.AuditHead.objects.select_for_update(no_key=True).get(
            pk=1
        )  # two at once: the second one waits here
        if models.ChainCheck.objects.filter(ended_at=None).exists():
            raise Stale("The chain is being checked already.")
        last = models.ChainCheck.objects.filter(broken="").order_by("-pk").first()
        row = models.ChainCheck(asked_by=by.user)
        if last is not None and not whole:
            row.first, row.seq, row.hash = last.seq, last.seq, last.hash
        row.save(force_insert=True)
        content = {"from_line": row.first + 1}
        audit.append("audit.check_asked", actor=by, subject=f"check {row.pk}", content=content)
        return row


def step() -> int:
    """Return how many lines of the chain were checked; none when nobody has asked, or another clock is at it."""
    if not models.ChainCheck.objects.filter(ended_at=None).exists():
        return 0
    with committing("check_chain"):
        rows = models.ChainCheck.objects.select_for_update(no_key=True, of=("self",), skip_locked=True)
        row = rows.filter(ended_at=None).order_by("pk").first()
        if row is None:
            return 0
        head = models.AuditHead.objects.get(
            pk=1
        )  # before the lines: what is appended meanwhile is the next check's
        before = row.seq
        row.broken = _follow(row, head)
        if row.broken or row.seq >= head.seq:
            row.broken = row.broken or _ends_elsewhere(row, head)
            row.ended_at = clock_time.now()
        row.save(update_fields=["seq", "hash", "broken", "ended_at"])
        return row.seq - before


def _follow(row: models.ChainCheck, head: models.AuditHead) -> str:
    """Move the check along the next lines; return what is wrong with the first that doesn't agree."""
    events = models.AuditEvent.objects.filter(seq__gt=row.seq, seq__lte=head.seq).order_by("seq")
    for event in events[:BATCH]:
        if event.seq != row.seq + 1:
            return f"Line {row.seq + 1} is missing."
        if event.previous != row.hash:
            return f"Line {event.seq} doesn't follow the one before it."
        if event.hash != audit.expected_hash(event):
            return f"Line {event.seq} was changed."
        row.seq, row.hash = event.seq, event.hash
    if row.seq < head.seq and not events.filter(seq__gt=row.seq).exists():
        return f"Line {row.seq + 1} is missing."
    return ""


def _ends_elsewhere(row: models.ChainCheck, head: models.AuditHead) -> str:
    if (row.seq, row.hash) == (head.seq, head.hash):
        return ""
    return f"The chain ends at line {row.seq}, but its head says line {head.seq}, or another content of it."
