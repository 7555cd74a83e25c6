"""What the clock does for the audit chain: it anchors the logs of runs, and takes the chain's head out of the database.

Whoever owns the database and its keys could cut off the chain's end together with its head row. A head that lies
elsewhere shows it: `manage.py audit_verify --head FILE`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import structlog
from django.conf import settings
from django.db import connection

from runs import exact, models
from runs.transitions import anchors, notices

log = structlog.get_logger(__name__)

HIGHEST = 3
"""Tier of what can't be undone: after each start of such an effect the head goes out at once."""
_SENT = """
SELECT max(o.id), count(*) FILTER (WHERE a.tier >= %s)
FROM runs_occurrence o JOIN runs_action a ON a.id = o.owner_id WHERE o.id > %s
"""


class BadFile(ValueError):
    """The file holds no heads; one sentence."""


class Keeper:
    """Knows when it last anchored and exported; one for each clock."""

    def __init__(self) -> None:
        self._anchored = self._exported = float("-inf")
        self._sent: int | None = None

    def look(self) -> None:
        """Anchor and export what is due: by time, and after each start of an effect of the highest tier."""
        now, urgent = time.monotonic(), self._started()
        if urgent or now >= self._anchored + settings.CKPTSITE["ANCHOR"]:
            anchors.anchor()
            self._anchored = now
        if urgent or now >= self._exported + settings.CKPTSITE["EXPORT"]:
            try:
                if export(settings.CKPTSITE_AUDIT_HEADS):
                    tell()
            except OSError as error:  # its place may be away for a while; every look tries again
                log.warning("head_not_exported", error=f"{type(error).__name__}: {error}")
                self._exported = float("-inf")
            else:
                self._exported = now

    def _started(self) -> bool:
        """Return whether an effect of the highest tier has been started since the last look."""
        with connection.cursor() as cursor:
            if self._sent is None:
                cursor.execute("SELECT coalesce(max(id), 0) FROM runs_occurrence")
                (self._sent,) = cursor.fetchone()
                return False
            cursor.execute(_SENT, [HIGHEST, self._sent])
            newest, highest = cursor.fetchone()
        self._sent = max(self._sent, newest or 0)
        return bool(highest)


def tell() -> None:
    """Send the head out too, to the endpoints and the mailbox that are told of it."""
    head = models.AuditHead.objects.get(pk=1)
    content = {"seq": head.seq, "hash": head.hash}
    notices.note(notices.HEAD, content=content, once=f"head:{head.seq}")


def export(path: Path) -> bool:
    """Append the head of the audit chain to the file; return whether it wasn't the last line already."""
    head = models.AuditHead.objects.get(pk=1)
    line = exact.canonical({"seq": head.seq, "hash": head.hash})
    if head.seq == 0 or (path.exists() and _last(path) == line):
        return False
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, f"{line}\n".encode())
        os.fsync(file)
    finally:
        os.close(file)
    return True


def read(path: Path) -> dict[int, str]:
    """Return the exported heads by the number of their event. Refuses BadFile and OSError."""
    found: dict[int, str] = {}
    for number, line in enumerate(_lines(path), start=1):
        try:
            head = exact.stored(line)
            seq, digest = head["seq"], head["hash"]
        except (ValueError, KeyError, TypeError):
            raise BadFile(f"Line {number} of {path} is no head of an audit chain.") from None
        if found.setdefault(seq, digest) != digest:
            raise BadFile(f"Line {number} of {path} names another head of event {seq} than a line before it.")
    if not found:
        raise BadFile(f"{path} holds no head of an audit chain.")
    return found


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield line.strip()


def _last(path: Path) -> str:
    """Return the last line of the file."""
    with path.open("rb") as file:
        file.seek(max(0, os.path.getsize(path) - 400))
        return file.read().decode().rstrip("\n").rpartition("\n")[2]
