"""Watching in which order transactions lock rows: run, review, action, occurrence, account, audit head.

Two transactions that lock the same rows in different orders end in a deadlock sooner or later. A run's reviews and
actions are locked only by who holds the run, so they may come in any order after it, but never without it; what runs
share (occurrences of a lineage, accounts, the audit head) comes in this order. Use it as `with lock_order.watched():`
around anything that commits in this thread, here or in another harness; it raises OutOfOrder at the statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

ORDER = ("runs_run", "runs_review", "runs_action", "runs_occurrence", "runs_account", "runs_audithead")
RUN = "runs_run"
OF_A_RUN = frozenset({"runs_review", "runs_action"})
_UPDATES = re.compile(r"\bUPDATE\s+(?:ONLY\s+)?\"?(runs_\w+)|\bDELETE\s+FROM\s+\"?(runs_\w+)", re.IGNORECASE)
_SELECTS = re.compile(
    r"\bFOR\s+(?:NO\s+KEY\s+)?UPDATE(?:\s+OF\s+((?:\"?\w+\"?,?\s*)+?))?(?:\s+SKIP|\s*\)|\s*$)", re.IGNORECASE
)
_FROM = re.compile(r"\bFROM\s+\"?(runs_\w+)", re.IGNORECASE)


class OutOfOrder(AssertionError):
    """A transaction locks a row of a table that comes before one it has locked already."""


def locked(sql: str) -> list[str]:
    """Return the tables of which a statement locks rows that others may want, in the order of its text.

    New rows are nobody else's yet. A SELECT without FOR UPDATE locks nothing that matters here.
    """
    found = [(match.start(), match.group(1) or match.group(2)) for match in _UPDATES.finditer(sql)]
    for match in _SELECTS.finditer(sql):
        named = re.findall(r"runs_\w+", match.group(1) or "")
        if not named:
            tables = _FROM.findall(sql[: match.start()])
            named = tables[-1:]
        found += [(match.start(), name) for name in named]
    return [name.lower() for _, name in sorted(found)]


class Watch:
    """What each transaction has locked so far."""

    def __init__(self) -> None:
        self._transaction: object = None
        self._held: list[str] = []
        self._owner = False
        self.seen: set[tuple[str, ...]] = set()

    def saw(self, sql: str, transaction: object) -> None:
        """Take one statement in. Refuses OutOfOrder. `transaction` is what tells one from the next; None is alone."""
        if transaction is None or transaction is not self._transaction:
            self._transaction, self._held, self._owner = transaction, [], False
        if "session_replication_role" in sql:  # somebody who owns the database changes rows past the product
            self._owner = True
        if self._owner:
            return
        for table in locked(sql):
            if table not in ORDER or table in self._held:
                continue
            self._check(table, sql)
            self._held.append(table)
            self.seen.add(tuple(self._held))

    def _check(self, table: str, sql: str) -> None:
        if table in OF_A_RUN:
            if RUN not in self._held:
                raise OutOfOrder(f"{table} is locked without its run: {sql[:300]}")
            return
        later = [name for name in self._held if ORDER.index(name) > ORDER.index(table)]
        if later:
            raise OutOfOrder(f"{table} is locked after {', '.join(later)}: {sql[:300]}")


@contextmanager
def watched() -> Iterator[Watch]:
    """Watch every statement of this thread's connection, through Django's cursor or past it."""
    watch = Watch()

    def django(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        if connection.atomic_blocks:  # a statement by itself is a test's own: nothing else is locked with it
            watch.saw(str(sql), connection.atomic_blocks[0])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(django):
        yield watch
