"""Files of runs, as another site would have written them: the same work under other numbers."""

from __future__ import annotations

from runs import exact, models
from runs.engine import run_files
from runs.transitions import log

FURTHER = 1_000_000
"""By which the other site's numbers are higher."""


def file(run: models.Run) -> bytes:
    """Return the run's file as if it had been carried out elsewhere; its chain is whole."""
    about, *lines = (exact.parse(text.decode(), limit=None) for text in run_files.written(run))
    head = exact.EMPTY
    for line in lines:
        line["run"] += FURTHER
        counters = exact.text_of(line["counters"]) if "counters" in line else None
        head = log.link(
            head,
            line["run"],
            line["position"],
            line["kind"],
            exact.digest_of(line["content"]),
            line.get("number"),
            line.get("boundary"),
            counters,
        )
        line["head"] = head
    about["run"] += FURTHER
    about["root"] += FURTHER
    about["path"] = [[run + FURTHER, last] for run, last in about["path"]]
    return written({**about, "head": head}, *lines)


def written(*values: dict[str, object]) -> bytes:
    """Return these as lines of a file."""
    return b"".join(f"{exact.text_of(value)}\n".encode() for value in values)
