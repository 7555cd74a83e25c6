"""What time has made due, felt in one statement: an idle site's clock asks nothing else.

It only says where there is something to look at; each act then asks for itself, so a pulse that is a moment old costs a
second at most.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from runs.models import columns, wire
from runs.transitions import clock_time, tenures

_FEEL = """
SELECT
  EXISTS (SELECT FROM runs_run WHERE status = 'running' AND lease_until < $1::timestamptz)
    OR EXISTS (SELECT FROM runs_tenure WHERE host = $2 AND lost_at IS NOT NULL AND gone_at IS NULL),
  EXISTS (SELECT FROM runs_review WHERE status = 'open' AND expires_at <= $1::timestamptz),
  EXISTS (SELECT FROM runs_review WHERE status = 'open' AND due_at < $1::timestamptz AND expires_at IS NULL),
  EXISTS (SELECT FROM runs_review WHERE status = 'open' AND next_at <= $1::timestamptz),
  EXISTS (SELECT FROM runs_snooze WHERE NOT told AND until <= $1::timestamptz),
  EXISTS (SELECT FROM runs_run WHERE parent_id IS NOT NULL AND NOT returned),
  EXISTS (SELECT FROM runs_run WHERE status = 'queued' AND wake_at <= $1::timestamptz)
    OR EXISTS (SELECT FROM runs_run WHERE status = 'running' AND lease_until < $1::timestamptz)
"""


@dataclass(frozen=True)
class Pulse:
    """Whether there may be something to do for each act of the clock."""

    lost: bool
    expired: bool
    overdue: bool
    rungs: bool
    snoozed: bool
    handed: bool
    due: bool


def feel() -> Pulse:
    """Return where time has made something due, on the database's clock."""
    now = clock_time.now().isoformat().encode()
    (row,) = wire.execute(_FEEL, [now, columns.word(tenures.me().host)])
    assert len(row) == len(fields(Pulse))
    return Pulse(*(value == b"t" for value in row))
