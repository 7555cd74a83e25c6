"""Watching in which order transactions lock rows: run, review, action, occurrence, account, audit head.

Two transactions that lock the same rows in different orders end in a deadlock sooner or later. A run's reviews and
actions are locked only by who holds the run, so they may come in any order after it, but never without it; what runs
share (occurrences of a lineage, accounts, the audit head) comes in this order.

`everywhere` watches each connection of this process, in whatever thread; every test does, and every hand of the crash
harness. What is found is kept until somebody takes it (`taken`), since the engine survives an error at a statement.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.db import connections
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate, pre_migrate

ORDER = ("runs_run", "runs_review", "runs_action", "runs_occurrence", "runs_account", "runs_audithead")
RUN = "runs_run"
OF_A_RUN = frozenset({"runs_review", "runs_action"})
_LOCKING = re.compile(r"\b(?:UPDATE|DELETE)\b", re.IGNORECASE)
_UPDATES = re.compile(r"\bUPDATE\s+(?:ONLY\s+)?\"?(runs_\w+)|\bDELETE\s+FROM\s+\"?(runs_\w+)", re.IGNORECASE)
_SELECTS = re.compile(
    r"\bFOR\s+(?:NO\s+KEY\s+)?UPDATE(?:\s+OF\s+((?:\"?\w+\"?,?\s*)+?))?(?:\s+SKIP|\s*\)|\s*$)", re.IGNORECASE
)
_FROM = re.compile(r"\bFROM\s+\"?(runs_\w+)", re.IGNORECASE)
_file: Path | None = None
_wrong: list[str] = []
_excused: list[str] = []
_MIGRATES = "migrations"
seen: set[tuple[str, ...]] = set()
"""Every order in which tables were locked."""


@lru_cache(maxsize=4096)
def locked(sql: str) -> tuple[str, ...]:
    """Return the tables of which a statement locks rows that others may want, in the order of its text.

    New rows are nobody else's yet. A SELECT without FOR UPDATE locks nothing that matters here.
    """
    if not _LOCKING.search(sql):
        return ()
    found = [(match.start(), match.group(1) or match.group(2)) for match in _UPDATES.finditer(sql)]
    for match in _SELECTS.finditer(sql):
        named = re.findall(r"runs_\w+", match.group(1) or "")
        if not named:
            tables = _FROM.findall(sql[: match.start()])
            named = tables[-1:]
        found += [(match.start(), name) for name in named]
    return tuple(name.lower() for _, name in sorted(found) if name.lower() in ORDER)


class Watch:
    """What each transaction of one connection has locked so far; an execute wrapper of Django's."""

    def __init__(self) -> None:
        self._transaction: object = None
        self._held: list[str] = []
        self._owner = False

    def __call__(
        self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        self.saw(str(sql), _transaction(context["connection"]))
        return execute(sql, params, many, context)

    def saw(self, sql: str, transaction: object) -> None:
        """Take one statement in. `transaction` is what tells one from the next; None is a statement by itself."""
        if transaction is None or transaction is not self._transaction:
            self._transaction, self._held, self._owner = transaction, [], False
        if "session_replication_role" in sql:  # somebody who owns the database changes rows past the product
            self._owner = True
        tables = locked(sql)
        if not tables or self._owner:
            return
        alone = transaction is None and len(set(tables)) == 1  # nothing else is locked with it
        for table in tables:
            if table in self._held:
                continue
            if not alone:
                self._check(table, sql)
            self._held.append(table)
            seen.add(tuple(self._held))

    def _check(self, table: str, sql: str) -> None:
        later = [name for name in self._held if ORDER.index(name) > ORDER.index(table)]
        if table in OF_A_RUN:
            why = "" if RUN in self._held else "without its run"
        else:
            why = f"after {', '.join(later)}" if later else ""
        if why and not _excused:
            where = [
                f"{one.filename}:{one.lineno}" for one in traceback.extract_stack() if _ours(one.filename)
            ]
            note(f"{table} is locked {why}: {sql[:300]} at {' < '.join(reversed(where[-6:]))}")


def _ours(file: str) -> bool:
    return ("/runs/" in file or "/tests/" in file) and not file.endswith(("lock_order.py", "wire.py"))


def _transaction(connection: Any) -> object:
    """Return what stands for the connection's transaction; one that a test is wrapped in is none."""
    blocks = (block for block in connection.atomic_blocks if not block._from_testcase)
    return next(blocks, None)


def everywhere(*, into: Path | None = None) -> None:
    """Watch each connection of this process from now on; what is found goes `into` a file too, if one is given."""
    global _file  # noqa: PLW0603 said once, when a process begins
    _file = into
    connection_created.connect(_meet, dispatch_uid="lock_order", weak=False)
    pre_migrate.connect(_excuse, dispatch_uid="lock_order", weak=False)
    post_migrate.connect(_accuse, dispatch_uid="lock_order", weak=False)
    for connection in connections.all(initialized_only=True):
        _meet(connection=connection)


def _meet(*, connection: Any, **_: object) -> None:
    wrappers = connection.execute_wrappers
    if not any(isinstance(known, Watch) for known in wrappers):
        wrappers.insert(0, Watch())  # the last one belongs to whoever ends its `with` next


def _excuse(**_: object) -> None:
    """Nobody else is at a database while its tables change."""
    if _MIGRATES not in _excused:
        _excused.append(_MIGRATES)


def _accuse(**_: object) -> None:
    if _MIGRATES in _excused:
        _excused.remove(_MIGRATES)


def note(wrong: str) -> None:
    """Keep what was found wrong."""
    _wrong.append(wrong)
    if _file is not None:
        with _file.open("a", encoding="utf-8") as out:
            out.write(f"{wrong}\n")


def taken() -> list[str]:
    """Return what was found wrong since the last call."""
    found = _wrong[:]
    _wrong.clear()
    return found


@contextmanager
def excused(why: str) -> Iterator[None]:
    """Let the block lock in an order of its own, for a reason: it plays somebody who isn't the product."""
    _excused.append(why)
    try:
        yield
    finally:
        _excused.pop()
