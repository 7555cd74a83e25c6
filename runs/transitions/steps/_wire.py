"""One statement on Django's connection, prepared once, and sent before its answer is waited for.

What the statement's commit doesn't change can be worked out while the server is at it: a worker's next move, say.
Values travel as the text that the server reads, since the statement casts each of them itself.
"""

from __future__ import annotations

import select
import weakref
from collections.abc import Callable, Sequence

from django.conf import settings
from django.db import connections
from psycopg import errors, pq

MOST = 256
"""So many different statements are prepared on one connection; others are planned each time."""

_DONE = frozenset({pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK})

_prepared: weakref.WeakKeyDictionary[pq.abc.PGconn, dict[str, bytes]] = weakref.WeakKeyDictionary()


def execute(
    text: str, values: Sequence[bytes | None], *, meanwhile: Callable[[], object] = lambda: None
) -> list[bytes | None] | None:
    """Return the one row of a statement as the server writes it; `meanwhile` is called while it is under way.

    Refuses django.db.Error as Django's own cursor does. What `meanwhile` raises is raised once the answer is there.
    """
    django = connections["default"]
    django.ensure_connection()
    with django.wrap_database_errors:
        server = django.connection.pgconn
        try:
            _send(server, text, values)
            try:
                meanwhile()
            finally:
                result = _answer(server)
        except BaseException:
            if (
                server.transaction_status == pq.TransactionStatus.ACTIVE
            ):  # its answer would be taken for another's
                django.connection.close()
            raise
        if result.status not in _DONE:
            raise errors.error_from_result(result, encoding="utf-8")
    return [result.get_value(0, column) for column in range(result.nfields)] if result.ntuples else None


def _send(server: pq.abc.PGconn, text: str, values: Sequence[bytes | None]) -> None:
    name = _name(server, text) if settings.DATABASE_PREPARE else None
    if name is None:
        server.send_query_params(text.encode(), values)
    else:
        server.send_query_prepared(name, values)
    while server.flush():
        select.select([], [server.socket], [])


def _name(server: pq.abc.PGconn, text: str) -> bytes | None:
    """Return the name under which the statement is prepared on this connection; None: there is no room for it."""
    known = _prepared.setdefault(server, {})
    if text in known:
        return known[text]
    if len(known) >= MOST:
        return None
    name = b"ckptsite_%d" % len(known)
    server.send_prepare(name, text.encode())
    while server.flush():
        select.select([], [server.socket], [])
    result = _answer(server)
    if result.status not in _DONE:
        raise errors.error_from_result(result, encoding="utf-8")
    known[text] = name
    return name


def _answer(server: pq.abc.PGconn) -> pq.abc.PGresult:
    """Wait for the answer and return its last result; the wait holds nothing that another thread needs."""
    ready = select.poll()
    ready.register(server.socket, select.POLLIN)
    last = None
    while True:
        while server.is_busy():
            ready.poll()
            server.consume_input()
        result = server.get_result()
        if result is None:
            assert last is not None
            return last
        last = result
