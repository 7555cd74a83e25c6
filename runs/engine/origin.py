"""Is this still the database that was written to, and does it keep what it commits? Asked on each new connection.

A restored dump, a copy, and a standby that took over have another identity than the one that is noted in them. A disk
that was rolled back has not; that shows because the last intent of this machine, which its data folder keeps, is gone.
"""

from __future__ import annotations

import datetime
import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, connection

from runs import models
from runs.models import kept
from runs.transitions import restores

log = structlog.get_logger(__name__)

_SYSTEM = "SELECT system_identifier::text FROM pg_control_system()"
_TIMELINE = "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"
_DATABASE = "SELECT oid::text FROM pg_database WHERE datname = current_database()"
_SETTINGS = "SELECT current_setting('synchronous_commit'), current_setting('fsync')"
_RECORD = 1024
_HIDDEN = "?"


class Forgetful(RuntimeError):
    """The database may forget what it has committed, so no effect is started; one sentence."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where the rows are: cluster, its timeline, and the database in it."""

    system: str
    timeline: str
    database: str

    def __str__(self) -> str:
        return f"{self.system}/{self.timeline}/{self.database}"


_seen = threading.local()
_at: dict[str, tuple[str, datetime.datetime | None]] = {}
"""Where this process was last, and when that had been restored."""


def ensure() -> None:
    """Look at the database once for each connection; what is found is acted upon before this returns."""
    raw = connection.connection
    if raw is not None and getattr(_seen, "raw", None) is raw:
        return
    connection.ensure_connection()
    _seen.forgetful = _forgetful()
    _seen.born = models.Installation.objects.values_list("created_at", flat=True).get(pk=1).isoformat()
    here = read()
    _compare(here)
    _check_last_intent()
    _forget_another(here)
    _seen.raw = connection.connection


def _forget_another(here: Origin) -> None:
    """Forget what is kept by number where this process was at another database, or this one was restored meanwhile.

    What was lost may have used numbers that are given anew: of agents, and of policies.
    """
    found = (str(here), models.Installation.objects.values_list("restored_at", flat=True).get(pk=1))
    if _at.get("found", found) != found:
        kept.forget()
    _at["found"] = found


def require_memory() -> None:
    """Refuse (Forgetful) to start an effect on a database that may lose the intent. Tests may allow it."""
    if getattr(_seen, "forgetful", "") and not settings.CKPTSITE_ALLOW_ASYNC_COMMIT:
        raise Forgetful(
            f"The database may forget what it has committed ({_seen.forgetful} is off), so no effect is started."
        )


def read() -> Origin:
    """Return where the rows are; a part that this account may not see is left out of every comparison."""
    return Origin(system=_one(_SYSTEM), timeline=_one(_TIMELINE), database=_one(_DATABASE))


def _one(query: str) -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute(query)
            row = cursor.fetchone()
    except DatabaseError as error:
        log.warning("origin_hidden", query=query, error=str(error))
        return _HIDDEN
    return str(row[0]) if row else _HIDDEN


def _forgetful() -> str:
    """Return the setting that lets the server forget commits, or nothing."""
    with connection.cursor() as cursor:
        cursor.execute(_SETTINGS)
        row = cursor.fetchone()
    assert row is not None
    return "synchronous_commit" if row[0] == "off" else "fsync" if row[1] == "off" else ""


def _compare(here: Origin) -> None:
    noted = models.Installation.objects.values_list("system", flat=True).get(pk=1)
    if not noted:
        restores.adopt(str(here))
        return
    before = Origin(**dict(zip(("system", "timeline", "database"), noted.split("/"), strict=True)))
    if _same(before.system, here.system) and _same(before.database, here.database):
        if _same(before.timeline, here.timeline):
            return
        if settings.CKPTSITE_SYNCHRONOUS_REPLICATION:
            why = "a standby took over, and replication is synchronous"
            restores.adopt(str(here), before=noted, why=why)
            return
        restores.found(str(here), why="A standby took over, or the database was restored to a point in time.")
        return
    restores.found(
        str(here), why="This is another database than the one that was written to: a restore or a copy."
    )


def _same(one: str, other: str) -> bool:
    return one == other or _HIDDEN in {one, other}


def remember(*, run: int, action: int, attempt: int, key: str) -> None:
    """Keep this intent as the last one of this machine, in the data folder. Without one, nothing is kept."""
    record = {
        "born": getattr(_seen, "born", ""),
        "run": run,
        "action": action,
        "attempt": attempt,
        "key": key,
    }
    try:
        handle = os.open(_file(), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(handle, json.dumps(record).ljust(_RECORD).encode("ascii"), 0)
        finally:
            os.close(handle)
    except OSError as error:
        log.warning("intent_not_kept", error=str(error))


def _check_last_intent() -> None:
    kept = _kept()
    if kept is None or kept["born"] != _seen.born:  # of another installation that had this folder
        return
    there = (
        models.Action.objects.filter(pk=kept["action"], run=kept["run"], attempt__gte=kept["attempt"])
        .select_related("occurrence")
        .first()
    )
    if there is not None and there.occurrence is not None and kept["key"] in there.occurrence.all_keys():
        return
    noted = models.Installation.objects.values_list("system", flat=True).get(pk=1)
    why = f"The last effect that this machine began (run {kept['run']}) is not in the database any more."
    restores.found(noted, why=why)
    _file().unlink(missing_ok=True)


def _kept() -> dict[str, Any] | None:
    try:
        found = json.loads(_file().read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return (
        found
        if isinstance(found, dict) and {"born", "run", "action", "attempt", "key"} <= set(found)
        else None
    )


def _file() -> Path:
    return Path(settings.CKPTSITE_DATA) / "last-intent"
