"""Appends to the audit chain, in the transaction of the act itself, as its last lock."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from runs import exact, models
from runs.models import columns
from runs.transitions import clock_time, marking, rows
from runs.transitions.actor import Actor


def append(
    act: str,
    *,
    actor: Actor,
    subject: str,
    run: models.Run | None = None,
    content: Mapping[str, Any] | None = None,
    seen: str | None = None,
) -> models.AuditEvent:
    """Return the appended event. Call it inside the act's transaction, after every other lock.

    `seen` is the digest of the card that the person had before them.
    """
    marking.done(actor, run)
    through = {} if actor.token is None else {"token": actor.token.named()}
    (head,), now = columns.together(
        columns.asked(models.AuditHead, "id = $1 FOR NO KEY UPDATE", [columns.number(1)]), clock_time.ASKED
    )
    before = dict(head.__dict__)
    event = models.AuditEvent(
        seq=head.seq + 1,
        at=now,
        actor=actor.user,
        on_behalf_of=actor.on_behalf_of,
        act=act,
        run=run,
        subject=subject,
        content={**(content or {}), **through},
        # Read under the head's lock, so that it is the one in force at this place of the chain.
        policy_version_id=models.Installation.objects.values_list("policy_version", flat=True).get(pk=1),
        seen=seen,
        channel=actor.channel,
        ip=actor.ip,
        previous=head.hash,
    )
    event.hash = expected_hash(event)
    head.seq, head.hash = event.seq, event.hash
    columns.together(rows.adding(event), *columns.said(rows.changed(head, before)))
    return event


def expected_hash(event: models.AuditEvent) -> str:
    """Return the HMAC that the event must carry: over every column and the hash before it."""
    later = (event.on_behalf_of_id, event.policy_version_id, event.seen)  # none of them in the oldest events
    return exact.seal(
        settings.AUDIT_HMAC,
        event.previous,
        event.seq,
        event.at.astimezone(datetime.UTC).isoformat(timespec="microseconds"),
        event.actor_id or "",
        event.act,
        event.run_id or "",
        event.subject,
        exact.text_of(event.content),
        event.channel,
        event.ip or "",
        *([part or "" for part in later] if any(later) else ()),
    )
