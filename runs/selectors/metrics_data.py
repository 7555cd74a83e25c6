"""What the metrics page counts: questions, answers, effects and runs of a span of days, in a fixed number of queries.

Of very many the newest `MOST` of each kind are counted, and the page says so.
"""

from __future__ import annotations

import bisect
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs import exact, lifecycle, models
from runs.selectors import ledger

MOST = 2_000
WEIGHED, EDITS = 200, 200
"""So many of the newest answers are laid beside what there was to read, and so many edits are looked into."""
LARGE = 1_000_000
BREAK = 3_600.0
"""Seconds after which somebody was away, and the time since their last answer says nothing."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question that was asked in the span."""

    number: int
    kind: str
    status: str
    tool: str
    rule: str
    revision: int
    quorum: int
    opened_at: datetime.datetime
    closed_at: datetime.datetime | None
    due_at: datetime.datetime


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One person's answer in the span."""

    question: int
    action: int | None
    person: int
    name: str
    verdict: str
    quorum: int
    revision: int
    at: datetime.datetime


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """Answers that one person gave at one moment, what there was to read, and how long after their last ones."""

    person: int
    characters: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Done:
    """One effect that was approved by a person and carried out in the span."""

    undone: bool
    behind: bool  # a later attempt has gone on from before it


@dataclass(frozen=True, kw_only=True)
class Ended:
    """One run that has ended in the span."""

    status: str
    at: datetime.datetime
    cost: int | None  # in millionths; None is "unknown"
    redriven: bool  # it went on from a checkpoint of another attempt


@dataclass(frozen=True, kw_only=True)
class Span:
    """Days, where the reader is: the first moment and the one after the last."""

    since: datetime.datetime
    until: datetime.datetime
    now: datetime.datetime

    @property
    def days(self) -> int:
        """Return how many days it has."""
        return max(1, (self.until - self.since).days)


@dataclass(frozen=True, kw_only=True)
class Data:
    span: Span
    questions: tuple[Question, ...]
    answers: tuple[Answer, ...]
    weighed: tuple[Weighed, ...]
    done: tuple[Done, ...]
    ended: tuple[Ended, ...]
    withdrawn: int
    alone: int  # released by break-glass
    fields: Mapping[str, int]  # how often people changed each argument
    edits: int
    cut: bool  # there were more than are counted


def read(span: Span) -> Data:
    """Return what is counted."""
    within = (span.since, span.until)
    asked = list(
        models.Review.objects.filter(opened_at__gte=span.since, opened_at__lt=span.until)
        .order_by("-opened_at")
        .values_list(
            "pk",
            "kind",
            "status",
            "action__tool",
            "content",
            "revision",
            "quorum",
            "opened_at",
            "closed_at",
            "due_at",
        )[: MOST + 1]
    )
    answers = _answers(span)
    done = _done(answers[:MOST])
    ended = list(
        models.Run.objects.filter(
            ended_at__gte=span.since, ended_at__lt=span.until, mode=models.Run.Mode.LIVE
        )
        .order_by("-ended_at")
        .values_list("status", "ended_at", "cost_micro", "cost_known", "path")[: MOST + 1]
    )
    withdrawn = models.AuditEvent.objects.filter(act="review.withdrawn", at__range=within).count()
    fields, edits = _edited(span)
    return Data(
        span=span,
        questions=tuple(_question(row) for row in asked[:MOST]),
        answers=tuple(answers[:MOST]),
        weighed=_weighed(answers[:MOST]),
        done=done,
        ended=tuple(
            Ended(status=status, at=at, cost=cost if known else None, redriven=bool(path))
            for status, at, cost, known, path in ended[:MOST]
            if at is not None
        ),
        withdrawn=withdrawn,
        alone=models.AuditEvent.objects.filter(act="review.broke_glass", at__range=within).count(),
        fields=fields,
        edits=edits,
        cut=any(len(rows) > MOST for rows in (asked, answers, ended)),
    )


def _question(row: tuple[Any, ...]) -> Question:
    number, kind, status, tool, content, revision, quorum, opened, closed, due = row
    rule = str((content or {}).get("rule") or "")
    return Question(number=number, kind=kind, status=status, tool=tool or "", rule=rule, revision=revision,
                    quorum=quorum, opened_at=opened, closed_at=closed, due_at=due)  # fmt: skip


def _answers(span: Span) -> list[Answer]:
    rows = (
        models.Decision.objects.filter(created_at__gte=span.since, created_at__lt=span.until)
        .order_by("-created_at", "-pk")
        .values_list(
            "review", "review__action", "person", "person__username", "verdict", "review__quorum", "revision",
            "created_at",
        )[: MOST + 1]
    )  # fmt: skip
    return [
        Answer(question=question, action=action, person=person, name=name, verdict=verdict, quorum=quorum,
               revision=revision, at=at)
        for question, action, person, name, verdict, quorum, revision, at in rows
    ]  # fmt: skip


def _weighed(answers: Sequence[Answer]) -> tuple[Weighed, ...]:
    """Return the newest answers about actions by what there was to read, where the person's last one is known.

    Nobody records how long somebody looks. The time since their last answer is at least as long as what they spent on
    this one alone, so a shorter time than reading takes is certain; what they had read before that isn't seen.
    """
    about = [answer for answer in answers if answer.action is not None][:WEIGHED]
    actions = list(
        models.Action.objects.filter(pk__in={answer.action for answer in about}).select_related("run")
    )
    sizes = {
        number: len(exact.canonical(arguments, limit=None))
        for number, arguments in ledger.arguments(actions, largest=LARGE).items()
    }
    moments: dict[int, list[datetime.datetime]] = {}
    together: dict[tuple[int, datetime.datetime], int] = {}
    for answer in reversed(answers):
        times = moments.setdefault(answer.person, [])
        if not times or times[-1] != answer.at:
            times.append(answer.at)
    for answer in about:
        key = (answer.person, answer.at)
        together[key] = together.get(key, 0) + sizes.get(answer.action or 0, 0)
    found = []
    for (person, at), characters in together.items():
        times = moments[person]
        place = bisect.bisect_left(times, at)
        seconds = (at - times[place - 1]).total_seconds() if place else BREAK
        if seconds < BREAK and characters:
            found.append(Weighed(person=person, characters=characters, seconds=seconds))
    return tuple(found)


def _done(answers: Sequence[Answer]) -> tuple[Done, ...]:
    """Return the effects that people had approved, and what became of each."""
    rows = models.Review.objects.filter(
        pk__in={answer.question for answer in answers if answer.verdict == "approve"},
        status=lifecycle.Review.APPROVED,
        consumed_by__status=lifecycle.Action.SUCCEEDED,
        consumed_by__undo_of__isnull=True,
    ).values_list(
        "consumed_by__occurrence__state", "run", "consumed_by__reply_position", "run__superseded_by__path"
    )
    return tuple(
        Done(
            undone=state == lifecycle.Occurrence.UNDONE,
            behind=bool(path) and int(path[-1][0]) == run and int(path[-1][1]) < position,
        )
        for state, run, position, path in rows
    )


def _edited(span: Span) -> tuple[dict[str, int], int]:
    """Return how often people changed each argument, and how many edits there were."""
    from_span = models.Revision.objects.filter(
        created_at__gte=span.since, created_at__lt=span.until, number__gt=1, author__isnull=False
    )
    newest = list(from_span.order_by("-pk").values_list("action", "number")[:EDITS])
    rows = models.Revision.objects.filter(action__in={action for action, _ in newest})
    known = {(row.action_id, row.number): row.arguments for row in rows.only("action", "number", "arguments")}
    found: dict[str, int] = {}
    for action, number in newest:
        before, after = known.get((action, number - 1)), known[action, number]
        if not isinstance(before, dict) or not isinstance(after, dict):
            continue
        for name in before.keys() | after.keys():
            if before.get(name) != after.get(name):
                found[name] = found.get(name, 0) + 1
    return found, len(newest)
