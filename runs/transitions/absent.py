"""Which sends of an action are proven not to have happened. A proof settles its own send and says nothing of others."""

from __future__ import annotations

from collections.abc import Iterable

from runs import lifecycle, models
from runs.transitions import log

_KINDS = (lifecycle.EntryKind.INTENT, lifecycle.EntryKind.RECEIPT)


def attempts(action: models.Action, *, pending: Iterable[log.Line] = ()) -> frozenset[int]:
    """Return the numbers of the sends that the log, with its `pending` lines, says did not happen.

    A proof about all of them (number 0) speaks of those that were sent before it, never of a later one.
    """
    call = [action.reply_position, action.call_index]
    lines = models.Entry.objects.filter(
        run=action.run_id, kind__in=_KINDS, position__gt=action.reply_position
    ).order_by("position")
    sent: set[int] = set()
    proven: set[int] = set()
    written = list(lines.values_list("content", flat=True))
    for content in (*written, *(line.content for line in pending if line.kind in _KINDS)):
        if content.get("call") != call:
            continue
        if "outcome" not in content:
            sent.add(content["attempt"])
        elif content["outcome"] == models.Evidence.Outcome.DID_NOT_HAPPEN:
            proven |= sent if content["attempt"] == 0 else {content["attempt"]}
    return frozenset(proven)
