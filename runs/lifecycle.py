"""Statuses and allowed moves, as pure data: the one source for models, transitions, pages and tests.

`Move.by` says who may make a move: E the claimed engine, P a person's transition, S the clock, V late evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


class Run(StrEnum):
    """Status of a run."""

    QUEUED = "queued"  # due at wake_at; nobody holds it
    RUNNING = "running"  # leased by one worker
    WAITING = "waiting"  # for a person or another run
    PAUSED = "paused"  # held by a person
    SUCCEEDED = "succeeded"  # ended, all done
    FAILED = "failed"  # stopped by a cause; a failure review says what next
    CANCELLED = "cancelled"  # ended because a person stopped it


class Action(StrEnum):
    """Status of an action, the ledger line of one proposed tool call."""

    PROPOSED = "proposed"
    HELD = "held"  # a review is open
    APPROVED = "approved"  # released, not started
    INTENT = "intent"  # "I am about to do this" is committed, the outcome is not
    SUCCEEDED = "succeeded"
    ABSORBED = "absorbed"  # done before in this lineage; the old receipt is the result
    DENIED = "denied"  # by policy
    REJECTED = "rejected"  # by a person
    EXPIRED = "expired"  # nobody answered in time
    SUPERSEDED = "superseded"  # run stopped or plan changed
    FAILED = "failed"  # proven not to have happened
    IN_DOUBT = "in_doubt"  # may have happened; a person is asked
    SIMULATED = "simulated"  # by a dry run: it says what would have been done
    ABANDONED = "abandoned"  # a person said that it can't be known


class Occurrence(StrEnum):
    """State of one logical effect in the world."""

    OPEN = "open"
    STANDING = "standing"
    VOID = "void"
    UNKNOWN = "unknown"
    UNDONE = "undone"


class Review(StrEnum):
    """Status of a question to a person."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    ANSWERED = "answered"
    EXPIRED = "expired"
    SETTLED = "settled"  # evidence answered it
    SUPERSEDED = "superseded"  # no longer asked


class Step(StrEnum):
    """State of a plan step."""

    PENDING = "pending"
    ACTIVE = "active"  # its call is open
    DONE = "done"
    SKIPPED = "skipped"  # its condition was false
    REFUSED = "refused"  # rejected, denied, expired or abandoned: not done
    FAILED = "failed"


class EntryKind(StrEnum):
    """Kind of a line in a run's log."""

    INPUT = "input"
    CORRECTION = "correction"
    REPLY = "reply"
    CALL = "call"
    REVISION = "revision"
    VERDICT = "verdict"
    DECISION = "decision"
    INTENT = "intent"
    RECEIPT = "receipt"
    RESULT = "result"
    PLAN = "plan"
    MARK = "mark"
    MESSAGE = "message"
    RECALL = "recall"
    SUMMARY = "summary"
    REFUSAL = "refusal"
    NOTE = "note"
    END = "end"


class Boundary(StrEnum):
    """Why a checkpoint stands where it stands."""

    CREATED = "created"
    PLANNED = "planned"
    RESULT = "result"
    PLAN_STEP = "plan_step"
    BEFORE_IRREVERSIBLE = "before_irreversible"
    EDITED = "edited"
    WAITING = "waiting"
    ENDED = "ended"


class ReviewKind(StrEnum):
    """What a person is asked."""

    ACTION = "action"
    PLAN = "plan"
    QUESTION = "question"
    IN_DOUBT = "in_doubt"
    BUDGET = "budget"
    FAILURE = "failure"


@dataclass(frozen=True)
class Move:
    """One allowed change of a status. `old` is None for a new row."""

    old: str | None
    new: str
    by: str
    when: str


class Moves(tuple[Move, ...]):
    """A table of moves."""

    @cached_property
    def by(self) -> dict[tuple[str | None, str], str]:
        """Return who may make each move."""
        found: dict[tuple[str | None, str], str] = {}
        for move in self:
            found[move.old, move.new] = found.get((move.old, move.new), "") + move.by
        return found


RUN_MOVES = Moves(
    (
        Move(None, Run.QUEUED, "PE", "start token is new"),
        Move(Run.QUEUED, Run.RUNNING, "E", "due, no switch, format known"),
        Move(Run.RUNNING, Run.RUNNING, "E", "lease over: taken over with a higher fence"),
        Move(Run.RUNNING, Run.QUEUED, "E", "slice over, backoff, undo window, horizon or shutdown"),
        Move(Run.RUNNING, Run.WAITING, "E", "nothing ready; review, child or block open"),
        Move(Run.WAITING, Run.QUEUED, "PSV", "a fact arrived"),
        Move(Run.RUNNING, Run.PAUSED, "E", "hold, at a safe point"),
        Move(Run.QUEUED, Run.PAUSED, "P", "hold, not leased"),
        Move(Run.WAITING, Run.PAUSED, "P", "hold, not leased"),
        Move(Run.PAUSED, Run.QUEUED, "P", "resumed, or stopped"),
        Move(Run.RUNNING, Run.FAILED, "E", "poison or final cause, nothing unsettled"),
        Move(Run.FAILED, Run.QUEUED, "P", "failure review answered: retry"),
        Move(Run.RUNNING, Run.SUCCEEDED, "E", "every call closed, nothing unsettled"),
        Move(Run.RUNNING, Run.CANCELLED, "E", "stop asked, nothing unsettled"),
    )
)

ACTION_MOVES = Moves(
    (
        Move(None, Action.PROPOSED, "E", "arguments valid"),
        Move(Action.PROPOSED, Action.ABSORBED, "E", "the effect stands off this path"),
        Move(Action.HELD, Action.ABSORBED, "E", "the effect stands off this path"),
        Move(Action.APPROVED, Action.ABSORBED, "E", "the effect stands off this path"),
        Move(Action.PROPOSED, Action.DENIED, "E", "policy"),
        Move(Action.PROPOSED, Action.HELD, "E", "prepared, review opened"),
        Move(Action.PROPOSED, Action.APPROVED, "E", "policy allows"),
        Move(Action.PROPOSED, Action.SUPERSEDED, "E", "stop or plan changed"),
        Move(Action.PROPOSED, Action.SIMULATED, "E", "dry run"),
        Move(Action.HELD, Action.APPROVED, "E", "review approved at this revision"),
        Move(Action.HELD, Action.REJECTED, "E", "review rejected"),
        Move(Action.HELD, Action.EXPIRED, "E", "review expired"),
        Move(Action.HELD, Action.SUPERSEDED, "E", "stop or plan changed"),
        Move(Action.HELD, Action.SUCCEEDED, "E", "done by hand"),
        Move(Action.APPROVED, Action.HELD, "E", "verdict, right, precondition or expiry changed"),
        Move(Action.APPROVED, Action.DENIED, "E", "policy now denies"),
        Move(Action.APPROVED, Action.SUPERSEDED, "E", "stop or plan changed"),
        Move(Action.APPROVED, Action.INTENT, "E", "the gate"),
        Move(Action.INTENT, Action.SUCCEEDED, "E", "receipt, evidence, look-up or person"),
        Move(Action.INTENT, Action.APPROVED, "E", "every attempt proven not to have happened; retryable"),
        Move(Action.INTENT, Action.FAILED, "E", "every attempt proven not to have happened; not retryable"),
        Move(Action.INTENT, Action.INTENT, "E", "idempotent, window open, the gate again"),
        Move(Action.INTENT, Action.IN_DOUBT, "E", "nothing left to find out by machine"),
        Move(Action.IN_DOUBT, Action.SUCCEEDED, "E", "it happened"),
        Move(Action.IN_DOUBT, Action.HELD, "E", "it did not happen: do it"),
        Move(Action.IN_DOUBT, Action.FAILED, "E", "it did not happen: leave it"),
        Move(Action.IN_DOUBT, Action.ABANDONED, "E", "it can't be known"),
    )
)

OCCURRENCE_MOVES = Moves(
    (
        Move(None, Occurrence.OPEN, "E", "intent"),
        Move(None, Occurrence.STANDING, "E", "done by hand"),
        Move(Occurrence.OPEN, Occurrence.STANDING, "E", "as its action"),
        Move(Occurrence.OPEN, Occurrence.VOID, "E", "as its action"),
        Move(Occurrence.OPEN, Occurrence.UNKNOWN, "E", "as its action"),
        Move(Occurrence.VOID, Occurrence.OPEN, "E", "done again after it did not happen"),
        Move(Occurrence.UNKNOWN, Occurrence.STANDING, "EPV", "evidence or person"),
        Move(Occurrence.UNKNOWN, Occurrence.VOID, "EPV", "evidence or person"),
        Move(Occurrence.STANDING, Occurrence.UNDONE, "EV", "undo done"),
        Move(Occurrence.UNKNOWN, Occurrence.UNDONE, "EPV", "undo in doubt, and it did happen"),
        Move(Occurrence.UNDONE, Occurrence.UNKNOWN, "V", "contrary evidence about the undo"),
        Move(
            Occurrence.STANDING,
            Occurrence.UNKNOWN,
            "EPVS",
            "undo in doubt, contrary evidence, or read back as not there",
        ),
        Move(Occurrence.VOID, Occurrence.STANDING, "EVS", "contrary evidence"),
    )
)

REVIEW_MOVES = Moves(
    (
        Move(None, Review.OPEN, "ES", "asked"),
        Move(Review.OPEN, Review.APPROVED, "P", "votes reach the quorum"),
        Move(Review.OPEN, Review.REJECTED, "P", "first refusal"),
        Move(Review.OPEN, Review.ANSWERED, "P", "answered"),
        Move(Review.OPEN, Review.EXPIRED, "S", "past expires_at, and its kind may expire"),
        Move(Review.OPEN, Review.SETTLED, "E", "evidence answered it"),
        Move(Review.OPEN, Review.SUPERSEDED, "PES", "stop, re-drive, plan, or a stricter policy"),
        Move(Review.APPROVED, Review.OPEN, "E", "more people are needed now; the valid votes are kept"),
        Move(
            Review.APPROVED, Review.SUPERSEDED, "PE", "withdrawn, stopped, or asked again, before the intent"
        ),
    )
)

RUN_ENDED = frozenset({Run.SUCCEEDED, Run.FAILED, Run.CANCELLED})
RUN_FINAL = frozenset({Run.SUCCEEDED, Run.CANCELLED})
ACTION_OPEN = frozenset({Action.PROPOSED, Action.HELD, Action.APPROVED, Action.INTENT, Action.IN_DOUBT})
ACTION_UNSETTLED = frozenset({Action.INTENT, Action.IN_DOUBT})
STEP_CLOSED = frozenset({Step.DONE, Step.SKIPPED, Step.REFUSED})
STEP_BEHIND = frozenset({Step.DONE, Step.SKIPPED})
STEP_NOT_DONE = frozenset({Step.REFUSED, Step.FAILED})
EXPIRING_KINDS = frozenset({ReviewKind.ACTION, ReviewKind.PLAN, ReviewKind.QUESTION})


class NotAllowed(RuntimeError):
    """This change of status is not in the table of moves."""


def check(moves: Moves, old: str | None, new: str, *, by: str) -> None:
    """Refuse (NotAllowed) a change from `old` to `new` that the table doesn't give to `by`."""
    if by in moves.by.get((old, new), ""):
        return
    was = "nothing" if old is None else repr(str(old))
    raise NotAllowed(f"{by} may not move {was} to {str(new)!r}")
