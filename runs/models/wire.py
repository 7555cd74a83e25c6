"""Statements that are said again and again: prepared once a connection, and sent before their answer is waited for.

What an answer doesn't change can be worked out while the server is at it: a worker's next move, say. Statements that
don't need each other's answers go `together`. Values travel as the text that the server reads, since each statement
casts them itself.
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
Statement = tuple[str, Values]
Meanwhile = Callable[[], object]

_DONE = frozenset({pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK})
_BEGIN: Statement = ("BEGIN", ())

_prepared: weakref.WeakKeyDictionary[pq.abc.PGconn, dict[str, bytes]] = weakref.WeakKeyDictionary()


def nothing() -> None:
    """Do nothing meanwhile."""


def execute(text: str, values: Values, *, meanwhile: Meanwhile = nothing) -> list[Row]:
    """Return the rows of a statement as the server writes them; `meanwhile` is called while it is under way.

    Refuses django.db.Error as Django's own cursor does, and passes the connection's execute wrappers as that does. What
    `meanwhile` raises is raised once the answer is there.
    """
    django = connections["default"]
    run: Callable[..., list[Row]] = partial(_execute, django, meanwhile)
    for wrapper in reversed(django.execute_wrappers):
        run = partial(wrapper, run)
    return run(text, values, False, {"connection": django})


def together(statements: Sequence[Statement]) -> list[list[Row]]:
    """Return the rows of each of these statements, in order.

    The server takes one after the other, each as it finds the database then, and none after one that it refuses: as if
    they were said one by one, but without a way to it and back for each. Outside a transaction they are one.
    """
    django = connections["default"]
    if django.execute_wrappers:  # each of these wants to see each
        return [execute(text, values) for text, values in statements]
    return [_rows(result) for result in _exchange(django, statements, nothing)]


def _execute(
    django: Any, meanwhile: Meanwhile, text: str, values: Values, _many: object, _context: object
) -> list[Row]:
    (result,) = _exchange(django, [(text, values)], meanwhile)
    return _rows(result)


def _exchange(django: Any, statements: Sequence[Statement], meanwhile: Meanwhile) -> list[pq.abc.PGresult]:
    django.ensure_connection()
    with django.wrap_database_errors:
        server = django.connection.pgconn
        # Django's `atomic` leaves it to the first statement to open the transaction.
        begins = not django.connection.autocommit and server.transaction_status == pq.TransactionStatus.IDLE
        said = [_BEGIN, *statements] if begins else statements
        try:
            results = (
                _one_by_one(server, said, meanwhile)
                if len(said) == 1
                else _in_one_go(server, said, meanwhile)
            )
        except BaseException:
            if (
                server.transaction_status == pq.TransactionStatus.ACTIVE
                or server.pipeline_status != pq.PipelineStatus.OFF
            ):  # its answer would be taken for another's
                django.connection.close()
            raise
        for result in results:
            _check(result)
    return results[1:] if begins else results


def _one_by_one(
    server: pq.abc.PGconn, said: Sequence[Statement], meanwhile: Meanwhile
) -> list[pq.abc.PGresult]:
    ((text, values),) = said
    _send(server, text, values, _name(server, text))
    _flush(server)
    try:
        meanwhile()
    finally:
        result = _answer(server)
    return [result]


def _in_one_go(
    server: pq.abc.PGconn, said: Sequence[Statement], meanwhile: Meanwhile
) -> list[pq.abc.PGresult]:
    names = [_name(server, text) for text, _ in said]
    server.enter_pipeline_mode()
    for (text, values), name in zip(said, names, strict=True):
        _send(server, text, values, name)
    server.pipeline_sync()
    _flush(server)
    try:
        meanwhile()
    finally:
        results = [_answer(server) for _ in said]
        _answered(server)
        server.exit_pipeline_mode()
    return results


def _rows(result: pq.abc.PGresult) -> list[Row]:
    columns = range(result.nfields)
    return [[result.get_value(row, column) for column in columns] for row in range(result.ntuples)]


def _send(server: pq.abc.PGconn, text: str, values: Values, name: bytes | None) -> None:
    if name is None:
        server.send_query_params(text.encode(), values)
    else:
        server.send_query_prepared(name, values)


def _flush(server: pq.abc.PGconn) -> None:
    while server.flush():
        select.select([], [server.socket], [])


def _name(server: pq.abc.PGconn, text: str) -> bytes | None:
    """Return the name under which the statement is prepared on this connection; None where it isn't to be, or can't."""
    if not settings.DATABASE_PREPARE:
        return None
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
    """Wait for the answer to one statement and return its last result."""
    _flush(server)
    last = None
    while (result := _answered(server)) is not None:
        last = result
    assert last is not None
    return last


def _answered(server: pq.abc.PGconn) -> pq.abc.PGresult | None:
    """Wait for the next result and return it, None behind a statement's last; no other thread is kept waiting."""
    if server.is_busy():
        ready = select.poll()
        ready.register(server.socket, select.POLLIN)
        while server.is_busy():
            ready.poll()
            server.consume_input()
    return server.get_result()


def _check(result: pq.abc.PGresult) -> None:
    if result.status not in _DONE:
        raise errors.error_from_result(result, encoding="utf-8")
