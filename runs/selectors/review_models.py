"""What the review page shows: one question to a person, all kinds of it. Conventions as in `page_models`."""

import datetime
from dataclasses import dataclass, field
from urllib.parse import urlencode

from runs.selectors import check_models, inbox_models, page_models, review_questions

Moment = datetime.datetime


@dataclass(frozen=True, kw_only=True)
class PreviewText:
    """A text as its reader will get it: a mail body, a posting text."""

    title: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Attachment:
    name: str
    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What will happen, built by the tool from the arguments; `missing` when the tool has no preview."""

    sentence: str
    facts: tuple[page_models.Fact, ...] = ()
    texts: tuple[PreviewText, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    warnings: tuple[str, ...] = ()
    reversible: str = ""  # "Can't be taken back." or how it can be undone
    missing: bool = False


@dataclass(frozen=True, kw_only=True)
class Retype:
    """Tier 3: the value that has to be typed again."""

    label: str  # "Amount"
    value: str  # what has to be typed, shown on the page
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class Vote:
    """A decision that was already given; `verdict` and `reason` are empty while the reader must stay blind."""

    by: str
    at: Moment
    verdict: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class PlanContext:
    """The steps around this action."""

    number: int
    title: str
    state: str  # lifecycle.Step
    current: bool = False


@dataclass(frozen=True, kw_only=True)
class PlanLine:
    """One step of a plan that is asked about."""

    number: int
    title: str
    tool: str = ""
    each: str = ""  # expression that gives the rows of a loop
    condition: str = ""
    arguments: str = ""  # canonical JSON text
    tier: int | None = None
    gate: bool = False  # a person wants to be asked before it


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """Facts behind "did it happen?"."""

    attempted_at: Moment
    deadline: Moment
    horizon: Moment
    looked_at: Moment | None  # last look-up, if the tool has one
    may_say_absent: bool  # somebody looked after the horizon
    absent_reason: str  # why not, when it may not be said
    attempts: int
    evidence: tuple[page_models.Fact, ...] = ()
    lookup: bool = False  # the tool can look by itself
    worker: str = ""  # whether the process that sent it can still be at it
    key: str = ""  # under which it was sent; the other system may know it
    where: str = ""  # whom or what it reaches, as its preview says


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Facts behind a failed run."""

    error: str
    where: str  # "Step 4: Send reminder to Nordwind GmbH"
    attempts: int
    at: Moment
    checkpoint: int
    differs: tuple[str, ...]  # of what the run started with: then it is asked whether it goes on with the new
    kept: str  # "3 e-mails were sent and stay sent; they aren't sent again."
    taken_back: bool = False  # what its plan marks; then it goes on from before that, if at all
    contradiction: bool = False  # evidence against what is recorded, not a failed run


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Facts behind a limit that is reached."""

    sentence: str  # "The limit of 200 model replies of this run is reached."
    facts: tuple[page_models.Fact, ...]
    label: str  # of the field: "Raise by how many model replies"
    hint: str  # "At least 1."


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Something that was done before and that this is, or may be; without an `occurrence` it can't be kept instead."""

    occurrence: int | None
    heading: str
    what: str  # what came of it, or what it is
    run_id: int
    at: Moment | None
    rows: tuple[check_models.Changed, ...]  # what is otherwise now
    same: bool  # in identity; else it may be another
    undoable: bool = False


@dataclass(frozen=True, kw_only=True)
class Marks:
    """Hidden fields of a decision form: what the person saw."""

    revision: int
    digest: str
    evidence: int
    tightened: int
    token: str  # one per drawn form, so that a double click decides once
    rendered_at: Moment  # the database's time at drawing; forms carry it signed


@dataclass(frozen=True, kw_only=True)
class Came:
    """What came of an approval so far; a page looks anew after `asks_again` seconds, and not where it is over."""

    review_id: int
    words: str
    good: bool  # it is done
    run_id: int
    asks_again: int | None


@dataclass(frozen=True, kw_only=True)
class ReviewPage:
    review_id: int
    kind: str
    status: str
    tier: int
    deviation: bool  # it leaves the plan that was approved
    judged: str  # "The policy was changed while this was open: it needs two people now."
    tier_reason: str  # why this tier: "Tool email.send is declared irreversible and reaches people outside."
    policy: str  # "Policy version 1, rule 2: what goes out needs one reviewer"
    title: str  # the h1, plain words
    tool: str
    agent: str
    run_id: int
    run_title: str
    parent: int | None  # the run that handed this one its work, where the reader may see it
    parent_title: str
    preview: Preview
    arguments: str  # the stored canonical JSON text, whole
    arguments_digest: str
    decisive_names: tuple[str, ...]
    changed_names: tuple[str, ...]
    marks: Marks
    waiting_since: Moment
    due_at: Moment | None
    overdue: bool
    expires_at: Moment | None
    said: str  # the agent's own words about this action, unchecked; may be empty
    steps: tuple[PlanContext, ...]
    facts: tuple[page_models.Fact, ...]  # rail: idempotency, protection, budget before and after
    first_time: tuple[str, ...]  # "First e-mail to this address"
    quorum: int
    needs: str  # "one approval, by somebody who neither started nor changed it"
    given: int  # so many approvals are there; who gave them is hidden from who has still to decide
    votes: tuple[Vote, ...]
    broken_glass: str  # "ada released this alone, by break-glass."
    may_break_glass: bool
    may_decide: bool
    blocked: str  # why not, in one sentence with what helps
    in_place_of: str  # in whose place this person would decide
    approval_blocked: str  # may reject but not approve, and why: "You started this run, ..."
    alone: bool  # a second person would be needed, but there is none
    reason_required: bool  # to approve; a rejection always needs one
    retype: Retype | None
    doubt: Doubt | None
    failure: Failure | None
    budget: Budget | None
    undo_seconds: float
    undo_left: float  # seconds in which this approval can still be taken back
    outcome: str  # closed reviews: one sentence, who, what, when
    outcome_reason: str
    came: Came | None  # of an approval of which something comes still
    taken_back: bool  # an approval that a person withdrew before it started
    again_id: int | None  # the question that took the place of this one
    started_by: str
    changes: tuple[check_models.Change, ...]
    beside: tuple[Beside, ...]  # done before, so approving this does it once more
    editable: bool  # its arguments can be changed
    next_id: int | None
    previous_id: int | None
    is_undo: bool = False  # a person asked for it, no agent
    undoable: bool = False  # its tool can take it back, with a release of its own
    approve_label: str = "Approve"
    plan: tuple[PlanLine, ...] = ()
    question: review_questions.Question | None = None
    preparing: bool = False  # its arguments are others by now, and what they will do is being worked out
    similar: check_models.Similar | None = None
    elsewhere: check_models.Elsewhere | None = None
    since: check_models.Since | None = None
    sources: tuple[check_models.Source, ...] = ()
    past: tuple[check_models.Past, ...] = ()
    desk: inbox_models.Desk | None = None
    back: str = ""  # query string of the list that the person came from

    @property
    def keepable(self) -> tuple[Beside, ...]:
        """Return what was done before and can be kept in the place of this."""
        return tuple(item for item in self.beside if item.occurrence is not None)

    @property
    def way(self) -> str:
        """Return what the address of the next question carries, so that it leads back to the same list."""
        return f"?{urlencode({'from': self.back})}" if self.back else ""


@dataclass(frozen=True, kw_only=True)
class Done:
    """What this person has just decided, shown once on the page that follows."""

    review_id: int
    sentence: str
    undo_left: float = 0.0
    came: "Came | None" = None


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What a person typed, to be drawn again after 409 or 422. `errors` by field name; "" is the whole form."""

    verdict: str = ""
    reason: str = ""
    then: str = "tell"
    retype: str = ""
    receipt: str = ""
    amount: str = ""
    which: int | None = None
    to: int | None = None
    span: str = ""
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def wider(self) -> bool:
        """Return whether it was typed into the form of the other answers."""
        return self.verdict in {"ask_back", "by_hand", "undo"}


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """Somebody or something was faster."""

    sentence: str  # "reviewer2 approved this 20 seconds ago."
    by: str = ""
    at: Moment | None = None
    reason: str = ""
