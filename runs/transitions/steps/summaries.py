"""Storing a model's summary of the older part of its log: paid for, and and a checkpoint; the log stays whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import lifecycle
from runs.transitions.steps import lost_calls
from runs.transitions.steps._statement import Claim, fenced


def summarise(
    claim: Claim,
    *,
    upto: int,
    text: str,
    pinned: tuple[str, ...],
    usage: Mapping[str, Any],
    details: Mapping[str, Any],
) -> None:
    """Store what stands for the lines up to `upto` in what the model is sent. Needs the fence only: it is paid for."""
    with fenced(claim, "reply") as work:
        lost_calls.count(work.run, usage)
        content = {"upto": upto, "text": text, "pinned": list(pinned), "usage": dict(usage), **details}
        work.log.append(lifecycle.EntryKind.SUMMARY, content, boundary=lifecycle.Boundary.RESULT)
        work.progressed()
