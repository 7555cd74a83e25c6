"""One run as a file of its own: a head line, then each line of its path, so that the chain can be followed anywhere.

Each line is one canonical JSON text. The same run, as far as it has come, gives the same bytes again.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from runs import exact, lifecycle, models, state
from runs.models import cuts
from runs.transitions import log

FORMAT, VERSION = "ckptsite.run", 1
CHUNK = 500


class BadFile(ValueError):
    """The file isn't what was written; one sentence."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What a file holds whose chain is whole."""

    run: int
    title: str
    status: str
    lines: int
    head: str


def written(run: models.Run) -> Iterator[bytes]:
    """Yield the file line by line: the log of the run's whole path up to where the row `run` says that it is."""
    agent = run.agent_version
    about = {
        "format": FORMAT,
        "version": VERSION,
        "run": run.pk,
        "root": run.root_id,
        "path": cuts.of(run),
        "head": run.head,
        "title": run.title,
        "agent": agent.agent.name,
        "agent_version": agent.number,
        "mode": run.mode,
        "status": run.status,
        "labels": run.labels,
        "created_at": _moment(run.created_at),
        "ended_at": None if run.ended_at is None else _moment(run.ended_at),
    }
    yield _line(about)
    path = [(ancestor, last) for ancestor, last in cuts.of(run)]
    for line in cuts.lines(path).iterator(chunk_size=CHUNK):
        yield line_of(line, line.run_id)


def again(run: models.ImportedRun) -> Iterator[bytes]:
    """Yield the file from which the run was read, line by line."""
    yield _line(run.about)
    for line in run.entries.order_by("position").iterator(chunk_size=CHUNK):
        yield line_of(line, line.holder)


def line_of(line: models.Entry | models.ImportedLine, holder: int) -> bytes:
    """Return the one text of a line of the log of the run `holder`."""
    told = {
        "run": holder,
        "position": line.position,
        "kind": line.kind,
        "content": line.content,
        "head": line.head,
        "at": _moment(line.created_at),
    }
    if line.number is not None:
        told |= {"number": line.number, "boundary": line.boundary, "counters": line.counters}
    return _line(told)


def check(lines: Iterable[bytes]) -> Checked:
    """Return what the file holds, having followed its chain and its state up to the head that it names.

    It needs no database. Refuses (BadFile) the first line that isn't what was written.
    """
    told = read(lines)
    about = next(told)[0]
    count = sum(1 for _ in told)
    return Checked(
        run=about["run"], title=about["title"], status=about["status"], lines=count, head=about["head"]
    )


def read(lines: Iterable[bytes]) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the head line of the file and then each line of the log with its text, each once it is proved.

    Read to its end, the file is whole. Refuses (BadFile) the first line that isn't what was written.
    """
    texts = iter(lines)
    first = next(texts, b"")
    about = _read(1, first)
    if about.get("format") != FORMAT:
        raise BadFile("This is no file of a run.")
    if about.get("version") != VERSION:
        raise BadFile(f"This file has version {about.get('version')!r}; version {VERSION} can be read here.")
    try:
        path = [(int(run), int(last)) for run, last in about["path"]]
        if about["run"] != path[-1][0]:
            raise BadFile("Line 1 names another run than its path ends in.")
        yield about, first
        yield from _followed(about, path, texts)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, BadFile):
            raise
        raise BadFile("This file says something that no run says.") from error


def _followed(
    about: dict[str, Any], parts: list[tuple[int, int]], texts: Iterator[bytes]
) -> Iterator[tuple[dict[str, Any], bytes]]:
    head, count, current = exact.EMPTY, 0, state.State()
    line: dict[str, Any] = {}
    text = b""
    path = iter(parts)
    holder, last = next(path)

    def told() -> Iterator[state.Entry]:
        nonlocal head, count, holder, last, line, text
        for place, text in enumerate(texts, start=2):
            line = _read(place, text)
            count += 1
            while count > last:
                holder, last = next(path, (0, count))
            place_of = line["run"], line["position"]
            if place_of != (holder, count) or {*map(type, place_of)} != {int}:
                raise BadFile(f"Line {place} is not position {count} of this run.")
            counters = None if line.get("counters") is None else exact.text_of(line["counters"])
            digest = exact.digest_of(line["content"])
            number, boundary = line.get("number"), line.get("boundary")
            head = log.link(head, holder, count, line["kind"], digest, number, boundary, counters)
            if head != line["head"]:
                raise BadFile(f"Line {place} was changed, or doesn't follow the one before it.")
            yield state.Entry(count, line["kind"], line["content"])

    try:
        for _, after in state.walk(told()):
            current = after
            yield line, text
    except state.Broken as error:
        raise BadFile(f"Line {count + 1} says something that no run says: {error}.") from error
    if head != about["head"]:
        raise BadFile(f"The log ends at position {count}, which is not where the run was.")
    if about["status"] in lifecycle.RUN_ENDED and current.ended != about["status"]:
        raise BadFile(f"The run is said to be {about['status']}, but its log says otherwise.")


def _line(value: dict[str, Any]) -> bytes:
    return f"{exact.text_of(value)}\n".encode("ascii")


def _read(place: int, text: bytes) -> dict[str, Any]:
    """Return what a line says; refuse one that isn't the one text of it."""
    try:
        value = exact.parse(text.decode("ascii"), limit=None)
    except ValueError as error:
        raise BadFile(f"Line {place} is no line of a run's file.") from error
    if not isinstance(value, dict) or _line(value) != text:
        raise BadFile(f"Line {place} is not written as a run's file is.")
    return value


def _moment(value: datetime.datetime) -> str:
    return value.astimezone(datetime.UTC).isoformat()
