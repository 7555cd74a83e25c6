"""Statements that are said again and again: prepared once a connection, and sent before their answer is waited for.

What an answer doesn't change can be worked out while the server is at it: a worker's next move, say. Values travel as
the text that the server reads, since each statement casts them itself.
"""

from __future__ import annotations

import select
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.conf import settings
from django.db import connections
from psycopg import errors, pq

MOST = 256
"""So many different statements are prepared on one connection; others are planned each time."""

Row = list[bytes | None]
Values = Sequence[bytes | None]

_DONE = frozenset({pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK})

_prepared: weakref.WeakKeyDictionary[pq.abc.PGconn, dict[str, bytes]] = weakref.WeakKeyDictionary()


def execute(text: str, values: Values, *, meanwhile: Callable[[], object] = lambda: None) -> list[Row]:
    """Return the rows of a statement as the server writes them; `meanwhile` is called while it is under way.

    Refuses django.db.Error as Django's own cursor does, and passes the connection's execute wrappers as that does. What
    `meanwhile` raises is raised once the answer is there.
    """
    django = connections["default"]
    run: Callable[..., list[Row]] = partial(_execute, django, meanwhile)
    for wrapper in reversed(django.execute_wrappers):
        run = partial(wrapper, run)
    return run(text, values, False, {"connection": django})


def _execute(
    django: Any, meanwhile: Callable[[], object], text: str, values: Values, _many: object, _context: object
) -> list[Row]:
    django.ensure_connection()
    with django.wrap_database_errors:
        server = django.connection.pgconn
        try:
            if not django.connection.autocommit and server.transaction_status == pq.TransactionStatus.IDLE:
                _begin(server)
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
        _check(result)
    columns = range(result.nfields)
    return [[result.get_value(row, column) for column in columns] for row in range(result.ntuples)]


def _begin(server: pq.abc.PGconn) -> None:
    """Open the transaction that Django's `atomic` leaves to the first statement."""
    server.send_query(b"BEGIN")
    _check(_answer(server))


def _send(server: pq.abc.PGconn, text: str, values: Values) -> None:
    name = _name(server, text) if settings.DATABASE_PREPARE else None
    if name is None:
        server.send_query_params(text.encode(), values)
    else:
        server.send_query_prepared(name, values)
    _flush(server)


def _flush(server: pq.abc.PGconn) -> None:
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
    _check(_answer(server))
    known[text] = name
    return name


def _answer(server: pq.abc.PGconn) -> pq.abc.PGresult:
    """Wait for the answer and return its last result; the wait holds nothing that another thread needs."""
    _flush(server)
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


def _check(result: pq.abc.PGresult) -> None:
    if result.status not in _DONE:
        raise errors.error_from_result(result, encoding="utf-8")
