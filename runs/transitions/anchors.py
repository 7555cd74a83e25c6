"""Anchors: the audit chain names where the log of each run that moved ends, so that no tail is cut off unseen.

Steps of the engine append to their own run's log and take no shared lock. The clock names their newest heads here,
many in one event; from then on a log that is shorter, or another one, doesn't agree with the audit chain.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection

from runs import models
from runs.transitions import audit
from runs.transitions.actor import CLOCK
from runs.transitions.clocks import sweeping

ACT = "runs.anchored"
BATCH = 500
"""So many runs are named in one event."""
LOOKED_BACK = 10
"""So many events are read to see what is named already; to name it twice does no harm."""

# What is older than two minutes was committed or never will be: no transaction may last as long. From there on it is
# looked for again, since numbers of lines are given before their transactions commit.
_NEW = """
SELECT t.run_id, t.position, encode(e.head, 'hex'), t.old FROM (
  SELECT run_id, max(position) AS position, max(id) AS newest,
    max(id) FILTER (WHERE created_at < clock_timestamp() - interval '2 minutes') AS old
  FROM runs_entry WHERE id > %s GROUP BY run_id
) t JOIN runs_entry e ON e.run_id = t.run_id AND e.position = t.position
ORDER BY t.newest
"""


def anchor() -> int:
    """Return how many runs have got lines since they were last named, and are named now; each head once."""
    with sweeping("anchor") as mine:
        if not mine:
            return 0
        known, since = _named()
        with connection.cursor() as cursor:
            cursor.execute(_NEW, [since])
            found = cursor.fetchall()
        new = [[run, position, head] for run, position, head, _ in found if known.get(run) != position]
        since = max([since, *(old for *_, old in found if old is not None)])
        for rows in _parts(new):
            audit.append(
                ACT, actor=CLOCK, subject=f"{len(rows)} runs", content={"runs": rows, "since": since}
            )
        return len(new)


def _named() -> tuple[dict[int, int], int]:
    """Return the positions that the newest anchors name, and the number of the line after which to look."""
    events = list(models.AuditEvent.objects.filter(act=ACT).order_by("-seq")[:LOOKED_BACK])
    known = {run: position for event in reversed(events) for run, position, _ in event.content["runs"]}
    return known, events[0].content["since"] if events else 0


def _parts(rows: list[list[object]]) -> Iterator[list[list[object]]]:
    for start in range(0, len(rows), BATCH):
        yield rows[start : start + BATCH]
