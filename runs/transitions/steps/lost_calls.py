"""Model calls whose worker was lost: one estimated call is booked, and the real usage takes its place if it comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import lifecycle, models
from runs.transitions import log
from runs.transitions.steps._statement import Claim, Work, fenced

LOST, LATE, UNUSABLE = "lost_call", "late_usage", "unusable_reply"


def book_call(claim: Claim, usage: Mapping[str, Any], *, lost_by: int | None) -> None:
    """Book a model call that left no reply: none is a step, each is paid for.

    `lost_by` is the fence of the claim that lost its answer: then the usage is the most that it can have cost, and it
    is marked as estimated. None is an answer that came and can't be used. Refuses LostAuthority.
    """
    with fenced(claim, "lost_call") as work:
        content: dict[str, Any] = {"code": UNUSABLE, "usage": dict(usage)}
        if lost_by is not None:
            content = {"code": LOST, "fence": lost_by, "usage": {**usage, "estimated": True}}
        count(work.run, content["usage"])
        work.log.append(lifecycle.EntryKind.NOTE, content)


def replace_estimate(work: Work, fact: models.Fact) -> None:
    """Fold in what a worker that lost its run has learnt of the real usage: it replaces the estimate, if one stands."""
    usage, fence = fact.content["usage"], fact.content["fence"]
    content: dict[str, Any] = {"code": LATE, "fence": fence, "usage": usage}
    estimate = _estimate(work, fence)
    if estimate is not None:
        content |= {"instead": estimate.content["usage"], "of": estimate.position}
    count(work.run, usage, instead=content.get("instead"))
    work.log.append(lifecycle.EntryKind.NOTE, content)


def count(run: models.Run, usage: Mapping[str, Any], *, instead: Mapping[str, Any] | None = None) -> None:
    """Add a usage to the run's counters, less the one that it replaces."""
    old = instead or {}
    run.tokens_in += usage["tokens_in"] - old.get("tokens_in", 0)
    run.tokens_out += usage["tokens_out"] - old.get("tokens_out", 0)
    run.cost_micro += (usage["cost_micro"] or 0) - (old.get("cost_micro") or 0)
    run.cost_known = run.cost_known and usage["cost_micro"] is not None


def _estimate(work: Work, fence: int) -> models.Entry | log.Line | None:
    """Return the oldest estimate of this claim or a later one that nothing has replaced yet.

    A later one: the claim that took over may itself have been lost before it booked anything.
    """
    stored = models.Entry.objects.filter(run=work.run, kind=lifecycle.EntryKind.NOTE).order_by("position")
    notes: list[models.Entry | log.Line] = [*stored, *work.log.lines]
    replaced = {
        note.content["of"] for note in notes if note.content.get("code") == LATE and "of" in note.content
    }
    for note in notes:
        if (
            note.content.get("code") == LOST
            and note.content["fence"] >= fence
            and note.position not in replaced
        ):
            return note
    return None
