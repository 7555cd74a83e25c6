"""Looking at what this process's database session holds."""

from __future__ import annotations

from django.db import connection

_HELD = """
SELECT locktype || ' ' || mode FROM pg_locks
WHERE pid = pg_backend_pid() AND locktype <> 'virtualxid' AND mode <> 'AccessShareLock'
"""


def none_held() -> None:
    """Refuse (AssertionError) when the session holds a lock: of a row, of a table, or an advisory one."""
    with connection.cursor() as cursor:
        cursor.execute(_HELD)
        held = [row[0] for row in cursor.fetchall()]
    assert held == [], f"a model or tool was called with locks held: {held}"
