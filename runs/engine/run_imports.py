"""A run's file read into a site, as a record: each line is proved before it is kept, and all are kept or none."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterator, Mapping
from typing import IO, Any

from django.db import DataError

from runs import lifecycle, models
from runs.engine import run_files
from runs.transitions import imports
from runs.transitions.actor import Actor

MOST = 16 * 2**20
"""Bytes of the longest line that is read."""
LONGEST = {"title": 200, "agent": 100}
LARGEST = 2**63 - 1


def bring(file: IO[bytes], *, source: str, by: Actor) -> models.ImportedRun:
    """Return the run that the file tells of, kept as a record. It is read once, line by line.

    Refuses BadFile where it isn't what `export_run` wrote, and what `imports.keep` refuses.
    """
    digest = hashlib.sha256()
    told = run_files.read(_lines(file, digest))
    about, _ = next(told)
    try:
        _known(about)
        return imports.keep(about, _rows(told), source=source, digest=digest.hexdigest, by=by)
    except DataError as error:
        raise run_files.BadFile("This file says something that no run says.") from error


def _lines(file: IO[bytes], digest: Any) -> Iterator[bytes]:
    place = 0
    while text := file.readline(MOST + 1):
        place += 1
        if len(text) > MOST:
            raise run_files.BadFile(f"Line {place} is longer than {MOST:,} bytes, too long for a run's file.")
        digest.update(text)
        yield text


def _known(about: Mapping[str, Any]) -> None:
    """Refuse a head line whose words don't fit where they are looked for."""
    texts = all(
        isinstance(about.get(name), str) and len(about[name]) <= most and "\x00" not in about[name]
        for name, most in LONGEST.items()
    )
    numbers = type(about["run"]) is int and 0 < about["run"] <= LARGEST
    if not texts or not numbers or about.get("status") not in {*lifecycle.Run}:
        raise run_files.BadFile("Line 1 says something that no run says.")


def _rows(told: Iterator[tuple[dict[str, Any], bytes]]) -> Iterator[models.ImportedLine]:
    """Give each line as it is kept; refuse one that would be told in other words afterwards."""
    for place, (line, text) in enumerate(told, start=2):
        row = _row(place, line)
        if run_files.line_of(row, row.holder) != text:
            raise run_files.BadFile(f"Line {place} says more than a line of a run does.")
        yield row


def _row(place: int, line: Mapping[str, Any]) -> models.ImportedLine:
    try:
        moment = datetime.datetime.fromisoformat(line["at"].removesuffix("+00:00")).replace(
            tzinfo=datetime.UTC
        )
        number, boundary = line.get("number"), line.get("boundary")
        known = line["kind"] in {*lifecycle.EntryKind} and boundary in {None, *lifecycle.Boundary}
        if not known or type(number) not in {int, type(None)}:
            raise ValueError(line["kind"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise run_files.BadFile(f"Line {place} says something that no run says.") from error
    return models.ImportedLine(
        holder=line["run"],
        position=line["position"],
        kind=line["kind"],
        content=line["content"],
        head=line["head"],
        number=number,
        boundary=boundary,
        counters=line.get("counters"),
        created_at=moment,
    )
