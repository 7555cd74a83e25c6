"""What the run page and its tabs show. Conventions as in `page_models`."""

import datetime
import decimal
import enum
from dataclasses import dataclass

from runs.selectors import attachments, page_models, read_back, run_search

Moment = datetime.datetime
Amount = decimal.Decimal


@dataclass(frozen=True, kw_only=True)
class Meter:
    """One budget line; None as limit is "no limit", None as used is "unknown"."""

    label: str
    unit: str  # count, money or seconds
    used: Amount | None
    limit: Amount | None
    percent: int | None
    warn: bool = False
    rest: str = ""  # "20 reserved, 60 left"


class Control(enum.StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"


@dataclass(frozen=True, kw_only=True)
class OpenReview:
    review_id: int
    kind: str
    tier: int
    effect: str
    since: Moment


@dataclass(frozen=True, kw_only=True)
class Retry:
    """What a failed run is tried again with, as it is: the question that was seen."""

    review_id: int
    revision: int
    digest: str
    evidence: int
    token: str


@dataclass(frozen=True, kw_only=True)
class Unusable:
    rows: int
    position: int  # of the line that names them
    query: str  # of the timeline's page that has the line


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """What an attempt is to another one: "A later attempt of run 4"."""

    words: str
    run_id: int  # the other one


@dataclass(frozen=True, kw_only=True)
class Relative:
    """One line of the tree of runs that work was handed to; `depth` from 0, that of the run which began it."""

    run_id: int
    title: str
    agent: str
    status: str
    depth: int
    asked: int  # open questions
    cost: decimal.Decimal | None
    this: bool


@dataclass(frozen=True, kw_only=True)
class RunHeader:
    run_id: int
    title: str
    agent: str
    agent_name: str
    agent_version: int
    status: str
    standing: str  # the status as it is told
    sentence: str  # "Waiting for approval of 2 e-mails since 12:04."
    error: str  # why it failed
    trouble: str  # why its last try came to nothing, while it is tried again
    started_by: str
    created_at: Moment
    ended_at: Moment | None
    dry_run: bool
    stop_asked: bool
    switches: tuple[str, ...]  # what is switched off and holds this run up, or part of it
    unusable: Unusable | None  # what a tool of a run that goes on could not use
    controls: tuple[Control, ...]
    control_blocked: str  # why there are none: "Operators may pause and stop runs."
    reviews: tuple[OpenReview, ...]
    meters: tuple[Meter, ...]
    broken_glass: tuple[
        tuple[int, str, str], ...
    ]  # questions that somebody released alone: number, title, who
    nearly: tuple[str, ...]  # limits of the day that are nearly or wholly used up
    steps_done: int
    steps_not_done: int  # by decision or by failure
    steps_total: int
    tabs: tuple[
        page_models.Tab, ...
    ]  # name = URL name: run, run-plan, run-transcript, run-effects, run-usage
    may_redrive: bool = False
    retry: Retry | None = None
    lineage: Lineage | None = None  # what it is to another attempt
    parent: int | None = None  # the run that handed it its work
    family: tuple[Relative, ...] = ()
    beside: int | None = None  # an attempt of the same work to compare it with
    last_good: int | None = None  # the newest checkpoint before a failure
    labels: tuple[str, ...] = ()  # "team=dunning"
    lost: tuple[str, ...] = ()  # steps whose open questions a newer plan takes back once the run goes on


@dataclass(frozen=True, kw_only=True)
class TimelineItem:
    """One line of the timeline; `tone` good, bad, ask, busy, doubt or quiet."""

    position: int
    icon: str
    tone: str
    title: str
    at: Moment
    detail: str = ""  # untrusted text
    checkpoint: int | None = None
    boundary: str = ""  # words: "before something final"
    tier: int | None = None
    review_id: int | None = None
    action_status: str = ""
    cost: Amount | None = None
    person: str = ""
    digest: str = ""
    files: tuple[attachments.Attachment, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TimelineGroup:
    """Neighbouring lines of little weight ("6 rows checked") folded behind one line, or a single one shown."""

    items: tuple[TimelineItem, ...]
    summary: str = ""  # empty: not folded


@dataclass(frozen=True, kw_only=True)
class TakeOver:
    """The form that makes a re-drive of a dry run, with what was typed after an error."""

    run_id: int
    current_id: int  # the attempt whose place is taken
    goes_on: bool  # that attempt hasn't ended, so it is stopped
    checkpoint: int
    token: str
    reason: str = ""
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class TimelinePage:
    header: RunHeader
    groups: tuple[TimelineGroup, ...]  # newest first
    page: page_models.Page
    failures: bool = False  # nothing else is shown
    over: TakeOver | None = None  # of a dry run


@dataclass(frozen=True, kw_only=True)
class PlanStep:
    number: int
    title: str
    state: str
    note: str = ""
    tool: str = ""
    tier: int | None = None
    gate: str = ""  # "Needs approval"
    guards: tuple[str, ...] = ()  # what people put on it: "Olga wants to be asked first"
    outcome: str = ""
    review_id: int | None = None
    arguments: str = ""  # canonical JSON text


@dataclass(frozen=True, kw_only=True)
class PlanPage:
    header: RunHeader
    version: int
    author: str
    made_at: Moment | None
    steps: tuple[PlanStep, ...]
    page: page_models.Page
    may_edit: bool
    blocked: str  # why its plan can't be changed now


@dataclass(frozen=True, kw_only=True)
class TranscriptEntry:
    position: int
    kind: str  # lifecycle.EntryKind
    who: str  # "Agent", "Tool files.read_csv", "operator", "ckptsite"
    side: str  # agent, tool, person or system: layout
    title: str
    at: Moment
    text: str = ""
    json: str = ""  # canonical JSON text, shown in numbered lines
    beginning: str = ""  # of the JSON text, where it is too large for a page
    size: int = 0  # bytes of the JSON text
    shortened: bool = False  # text or json is a preview; the rest is behind raw_url
    raw_url: str = ""
    digest: str = ""
    tokens: int | None = None
    cost: Amount | None = None
    checkpoint: int | None = None
    excerpts: tuple[run_search.Excerpt, ...] = ()  # where the words that were looked for stand
    files: tuple[attachments.Attachment, ...] = ()
    around: str = ""  # the way to it among its neighbours, from a search


@dataclass(frozen=True, kw_only=True)
class TranscriptPage:
    header: RunHeader
    entries: tuple[TranscriptEntry, ...]  # oldest first
    page: page_models.Page
    query: str = ""
    wanted: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class EffectRow:
    what: str
    where: str
    tool: str
    tier: int
    state: str  # lifecycle.Occurrence
    action_status: str
    at: Moment
    key: str
    request_digest: str
    attempts: int
    by: str  # who released it
    outcome: str = ""  # what came of it, in a sentence
    known: str = ""  # how it is known
    done_by: int | None = None  # the earlier attempt that did it
    receipt: str = ""  # canonical JSON text
    files: tuple[attachments.Attachment, ...] = ()
    review_id: int | None = None
    contradiction: str = ""
    occurrence_id: int
    takes_back: bool = False  # it is an undo itself
    may_undo: bool = False
    undo_run: int | None = None  # the run that takes it back, or has
    undo_sentence: str = ""
    looked: read_back.ReadBack | None = None
    may_verify: bool = False


@dataclass(frozen=True, kw_only=True)
class UndoDraft:
    """What was typed to have an effect taken back, and why it isn't."""

    occurrence_id: int
    reason: str = ""
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class EffectsPage:
    header: RunHeader
    rows: tuple[EffectRow, ...]
    page: page_models.Page
    token: str
    draft: UndoDraft
