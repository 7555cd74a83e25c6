"""Sentences about runs in a reviewer's words, made from status, reason, hold, stop and switches."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import NamedTuple

from django.utils import timezone
from django.utils.formats import date_format

from runs import lifecycle, models

KINDS: dict[str, tuple[str, str]] = {
    lifecycle.ReviewKind.ACTION: ("Waiting for approval of one action", "Waiting for approval of {} actions"),
    lifecycle.ReviewKind.PLAN: ("Waiting for approval of its plan", "Waiting for approval of {} plans"),
    lifecycle.ReviewKind.QUESTION: ("Waiting for an answer", "Waiting for {} answers"),
    lifecycle.ReviewKind.IN_DOUBT: (
        "Somebody has to find out whether something happened",
        "Somebody has to find out whether {} things happened",
    ),
    lifecycle.ReviewKind.BUDGET: ("Its budget is used up", "Its budget is used up"),
    lifecycle.ReviewKind.FAILURE: (
        "Failed; somebody has to say what next",
        "Failed; somebody has to say what next",
    ),
}
BOUNDARIES: dict[str, str] = {
    lifecycle.Boundary.CREATED: "at the start",
    lifecycle.Boundary.PLANNED: "plan saved",
    lifecycle.Boundary.RESULT: "result stored",
    lifecycle.Boundary.PLAN_STEP: "step closed",
    lifecycle.Boundary.BEFORE_IRREVERSIBLE: "before it reached outside",
    lifecycle.Boundary.EDITED: "edited by a person",
    lifecycle.Boundary.WAITING: "before waiting",
    lifecycle.Boundary.ENDED: "at the end",
}
_RESTS: dict[str, str] = {
    "new": "Starts as soon as a worker is free.",
    "slice": "Goes on as soon as a worker is free.",
    "shutdown": "Goes on as soon as a worker is free; the last one was shut down.",
    "busy": "Goes on in a moment; much arrived at once.",
    "decision": "Goes on with the decision as soon as a worker is free.",
    "evidence": "Goes on with what was learnt as soon as a worker is free.",
    "expired": "A question went unanswered; goes on as soon as a worker is free.",
    "undo": "Goes on with what is to be taken back as soon as a worker is free.",
    "undoing": "Takes back what was asked for as soon as a worker is free.",
    "withdrawn": "An approval was taken back; it is asked again.",
    "resumed": "Resumed; goes on as soon as a worker is free.",
    "switch": "Something that it needs is paused by an administrator; it goes on when that is lifted.",
    "crowded": "Has more to ask than may be open at once; the next question opens as others are answered.",
    "retry": "Goes on from its newest checkpoint as soon as a worker is free.",
    "stop": "Is being stopped.",
    "budget": "Goes on as soon as other runs have given back what they don't use of their common budget.",
    "usage": "Goes on with what was learnt as soon as a worker is free.",
    "error": "Something went wrong here; it is tried again in a moment.",
}
_ALARMS: dict[str, str] = {
    "undo_window": "Approved; starts {} unless the approval is taken back",
    "horizon": "Finds out {} whether something happened",
    "backoff": "Tries again {}",
}

TRIED_OUT = "Tried out, nothing was sent."


HANDED = "handed"
"""How a run stands on pages that waits for another run and not for a person."""


def standing(run: models.Run) -> str:
    """Return the status as pages tell it."""
    handed = run.status == lifecycle.Run.WAITING and run.reason == "child"
    return HANDED if handed else run.status


class Asked(NamedTuple):
    """One open question, as far as the sentence needs it."""

    kind: str
    since: datetime.datetime


def moment(at: datetime.datetime) -> str:
    """Return a time as text: the hour today, else with its day."""
    local, today = timezone.localtime(at), timezone.localtime(timezone.now())
    return date_format(local, "H:i" if local.date() == today.date() else "j M, H:i")


def at_moment(at: datetime.datetime) -> str:
    """Return the time with its preposition."""
    return f"at {moment(at)}"


def sentence(
    run: models.Run, asked: Sequence[Asked], *, now: datetime.datetime, held_up: bool = False
) -> str:
    """Return how the run stands, in one sentence."""
    match run.status:
        case lifecycle.Run.SUCCEEDED:
            return ended_well(run)
        case lifecycle.Run.CANCELLED:
            return _ended_by_stop(run)
        case lifecycle.Run.FAILED:
            return "Stopped by a failure."
    if run.stop_at is not None:
        who = run.stop_by.display() if run.stop_by else "ckptsite"
        if run.status == lifecycle.Run.WAITING:
            return f"{who} asked it to stop. It can't end before it is known what happened. {_questions(asked)}".strip()
        return f"{who} asked it to stop; it ends at its next safe point."
    if run.hold_by is not None:
        what = "Paused" if run.status == lifecycle.Run.PAUSED else "Pauses at its next safe point, as asked"
        why = f": {run.hold_reason}" if run.hold_reason else "."
        return f"{what} by {run.hold_by.display()}{why}"
    if held_up and run.status != lifecycle.Run.WAITING:
        return "It is paused together with others by an administrator; it goes on when that is lifted."
    if run.status == lifecycle.Run.RUNNING:
        return _at_work(run, now) + (f" {_questions(asked)}" if asked else "")
    if run.status == lifecycle.Run.WAITING:
        if run.reason == "pins":
            return "What it started with has changed; somebody has to say whether it goes on with what is there now."
        if run.reason == "others" and not asked:
            return "Waits for the answer to another run's question about their common limit of the day."
        if run.reason == "child":
            return "Waits for the result of what it handed over."
        if run.reason == "blocked":
            return "Waits until it is known whether an earlier, equal action happened."
        return _questions(asked) if asked else "Waits for a person."
    alarm = _ALARMS.get(run.reason)
    if alarm and run.wake_at is not None and run.wake_at > now:
        text = f"{alarm.format(at_moment(run.wake_at))}."
    else:
        text = _RESTS.get(run.reason, "Goes on as soon as a worker is free.")
    return f"{text} {_questions(asked)}" if asked else text


def ended_well(run: models.Run) -> str:
    """Return what a run says at its end; a dry run's own words, made of what it only tried out, don't stand alone."""
    if run.mode == models.Run.Mode.DRY_RUN:
        return f"{TRIED_OUT} {run.summary}".strip()
    return run.summary or "All done."


def _at_work(run: models.Run, now: datetime.datetime) -> str:
    if run.lease_until is not None and run.lease_until < now:
        return "Its worker doesn't answer any more; another one takes over in a moment."
    if run.attempts <= 1:
        return "A worker is on it right now."
    if run.error:
        return f"A worker tries it again right now, attempt {run.attempts}."
    return "A worker is on it right now; the one before it was lost, and nothing that is done is done again."


def _questions(asked: Sequence[Asked]) -> str:
    parts = []
    for kind, (one, many) in KINDS.items():
        found = [item for item in asked if item.kind == kind]
        if found:
            since = min(item.since for item in found)
            text = one if len(found) == 1 else many.format(len(found))
            parts.append(f"{text}, since {moment(since)}.")
    return " ".join(parts)


def _ended_by_stop(run: models.Run) -> str:
    who = run.stop_by.display() if run.stop_by else "ckptsite"
    return f"Stopped by {who}: {run.stop_reason}" if run.stop_reason else f"Stopped by {who}."
