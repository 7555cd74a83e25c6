"""What a stopping worker may still be doing to the outside world, asked of the database alone."""

import dataclasses
import datetime

import psycopg

from ckptsite.services import postgres

# An open intent means: a request may be on its way. Its deadline is when the worker gives it up.
_OPEN = """
    select count(*), max(run.lease_until), extract(epoch from max(run.lease_until) - clock_timestamp())
    from runs_action action join runs_run run on run.id = action.run_id
    where action.status = 'intent' and starts_with(action.tool, 'hand_off.') is false
      and run.lease_until > clock_timestamp()
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Open:
    """Effects under way, and when the last of them is given up."""

    count: int
    until: datetime.datetime
    seconds: float


def under_way(url: str) -> Open | None:
    """The effects that a live worker may be inside of; None when there are none or nobody can say."""
    try:
        with postgres.connect(url) as connection:
            row = connection.execute(_OPEN).fetchone()
    except psycopg.Error:
        return None
    if row is None or not row[0]:
        return None
    return Open(count=int(row[0]), until=row[1], seconds=float(row[2]))
