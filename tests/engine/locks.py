"""Looking at what this process's database session holds."""

from __future__ import annotations

from django.db import connection

from tests.engine import lock_order

_HELD = """
SELECT locktype || ' ' || mode FROM pg_locks
WHERE pid = pg_backend_pid() AND locktype <> 'virtualxid' AND mode <> 'AccessShareLock'
"""


def none_held() -> None:
    """Refuse (AssertionError) when the session holds a lock: of a row, of a table, or an advisory one.

    It is also kept for the end of the test, since the engine survives an error.
    """
    if connection.connection is None:
        return
    with connection.connection.cursor() as cursor:  # past Django, so that nobody counts it as the product's
        cursor.execute(_HELD)
        held = [row[0] for row in cursor.fetchall()]
    if held:
        wrong = f"a model or tool was called with locks held: {held}"
        lock_order.note(wrong)
        raise AssertionError(wrong)
