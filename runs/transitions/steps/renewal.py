"""A run and what it was started with: asking whether it goes on with another version, and going on with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings

from runs import exact, lifecycle, models
from runs.state import CallId
from runs.transitions import clock_time, indexing, pins, texts, words
from runs.transitions.steps import plans
from runs.transitions.steps._statement import Claim, Work, fenced

UNSAID = "what is installed has another digest, and no part of it says how it differs."


def ask_pins(claim: Claim, *, seen: int) -> None:
    """Open the question whether the run goes on with what is installed now, saying what differs. Refuses Changed."""
    with fenced(claim, "ask_pins", seen=seen) as work:
        run = work.run
        version = run.agent_version
        installed = pins.now(version.provider, version.tools)
        assert run.pins is not None
        found = pins.differing(run.pins, installed) or (UNSAID,)
        _close(work, lifecycle.Review.SUPERSEDED)
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        cause = f"What this run started with has changed: {found[0]}{more}"
        review = models.Review.objects.create(
            run=run,
            kind=lifecycle.ReviewKind.FAILURE,
            status=lifecycle.Review.OPEN,
            digest=exact.link(run.pk, run.pins_id, installed.pk),
            title=texts.storable(cause, limit=300),
            content={"cause": cause, "differs": list(found), "pins": installed.pk,
                     "checkpoint": run.checkpoint_number},
            groups=["operator"],
            due_at=work.now + clock_time.seconds(settings.CKPTSITE["REVIEW_DUE"]),
        )  # fmt: skip
        indexing.review(review)
        run.offered = installed
        work.log.append(
            lifecycle.EntryKind.VERDICT,
            {"verdict": "pins", "review": review.pk, "digest": review.digest, "pins": installed.pk,
             "reason": "\n".join(found)},
        )  # fmt: skip
        work.inbox_changed = True


def settle_pins(claim: Claim, *, seen: int) -> None:
    """What the run started with is installed again: nobody has to answer any more. Refuses Changed."""
    with fenced(claim, "settle_pins", seen=seen) as work:
        _close(work, lifecycle.Review.SETTLED)
        work.run.offered = None
        work.log.append(lifecycle.EntryKind.NOTE, {"code": "pins_back", "by": "ckptsite"})


def overtake(claim: Claim, calls: Iterable[tuple[CallId, str | None]], *, seen: int) -> None:
    """Close calls that were proposed under a contract that the run has left behind. Refuses Changed."""
    with fenced(claim, "overtake", seen=seen) as work:
        plans.supersede(work, calls, words.outdated())


def go_on(work: Work, fact: models.Fact, review: models.Review, *, who: str) -> None:
    """A person lets the run go on with the new version: what is open under an old contract is proposed again.

    Only what they were told about counts. If something else is installed by now, they are asked anew.
    """
    run = work.run
    version = run.agent_version
    installed = pins.now(version.provider, version.tools)
    old, run.offered = run.pins, None
    note: dict[str, Any] = {**fact.content, "code": "go_on", "by": who}
    if old is None or old.pk == installed.pk or review.content["pins"] != installed.pk:
        work.log.append(lifecycle.EntryKind.NOTE, note)
        return
    line = work.log.append(
        lifecycle.EntryKind.NOTE, {**note, "pins": installed.pk}, boundary=lifecycle.Boundary.EDITED
    )
    run.pins, run.renewed_at = installed, line.position
    changed = pins.changed_tools(old, installed)
    plans.supersede(work, _open(run, changed), words.outdated())


def _open(run: models.Run, tools: tuple[str, ...]) -> list[tuple[CallId, str | None]]:
    """Return the calls of these tools that are open and not sent: effects, and reads of plan steps."""
    waiting = (lifecycle.Action.PROPOSED, lifecycle.Action.HELD, lifecycle.Action.APPROVED)
    effects = models.Action.objects.filter(run=run, tool__in=tools, status__in=waiting).order_by("pk")
    found: list[tuple[CallId, str | None]] = [
        ((row.reply_position, row.call_index), row.step or None) for row in effects
    ]
    known = set(
        models.Action.objects.filter(run=run, reply_position=run.reply_position).values_list(
            "reply_position", "call_index"
        )
    )
    for row in models.PlanStep.objects.filter(run=run, state=lifecycle.Step.ACTIVE).order_by("order"):
        call = (row.reply_position, row.call_index)
        if (
            row.body.get("tool") in tools
            and call not in known
            and call[0] is not None
            and call[1] is not None
        ):
            found.append(((call[0], call[1]), row.key))
    return found


def _close(work: Work, status: str) -> None:
    """Close an open question about an older set."""
    rows = models.Review.objects.filter(
        run=work.run, kind=lifecycle.ReviewKind.FAILURE, status=lifecycle.Review.OPEN
    )
    asked = [row.pk for row in rows if "pins" in row.content]
    models.Review.objects.filter(pk__in=asked).update(status=status, closed_at=work.now)
    work.inbox_changed = work.inbox_changed or bool(asked)
