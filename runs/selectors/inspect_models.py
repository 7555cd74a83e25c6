"""What the pages about checkpoints and attempts show. Conventions as in `page_models`."""

import datetime
import decimal
from collections.abc import Mapping
from dataclasses import dataclass, field

from runs import wording
from runs.selectors import page_models, run_models

Moment = datetime.datetime
Amount = decimal.Decimal


@dataclass(frozen=True, kw_only=True)
class CheckpointRow:
    number: int
    words: str
    position: int
    at: Moment
    holder: int  # the run whose log has it
    turns: int
    calls: int
    cost: Amount | None
    digest: str


@dataclass(frozen=True, kw_only=True)
class CheckpointsPage:
    header: run_models.RunHeader
    rows: tuple[CheckpointRow, ...]  # newest first
    page: page_models.Page


@dataclass(frozen=True, kw_only=True)
class OpenCall:
    title: str
    tool: str
    tier: int
    status: str
    arguments: str  # canonical JSON text
    sent: int  # how often it was sent by then


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A result, or an effect on the path."""

    title: str
    text: str
    state: str
    position: int = 0
    run_id: int = 0
    key: str = ""


@dataclass(frozen=True, kw_only=True)
class CheckpointPage:
    run_id: int
    run_title: str
    number: int
    words: str
    at: Moment
    position: int
    holder: int
    kind: str
    size: int  # bytes of its line
    digest: str
    parent: int | None  # number of the checkpoint before
    parent_digest: str  # of the line before
    next: int | None
    newest: int
    turns: int
    calls: int
    tokens: int
    cost: Amount | None
    input: str
    plan_version: int
    plan: tuple[run_models.PlanStep, ...]
    plan_more: int  # steps that are not shown
    plan_counts: tuple[tuple[str, int], ...]  # state, how many
    open: tuple[OpenCall, ...]
    results: tuple[Outcome, ...]  # newest first
    earlier: str  # query of the transcript where the others stand
    effects: tuple[Outcome, ...]
    through: tuple[int, ...]  # the runs that its path leads through, before the holder
    whole: bool
    may_redrive: bool


@dataclass(frozen=True, kw_only=True)
class Pick:
    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class Group:
    label: str
    picks: tuple[Pick, ...]


@dataclass(frozen=True, kw_only=True)
class ChangeRow:
    op: str  # add, remove, replace, move (then the places are told in words)
    place: str
    before: str = ""  # canonical JSON, or its beginning
    after: str = ""
    cut: bool = False  # only beginnings are shown
    words: tuple[wording.Row, ...] = ()  # of two texts, word by word


@dataclass(frozen=True, kw_only=True)
class DiffSection:
    name: str
    title: str
    rows: tuple[ChangeRow, ...]
    count: int

    @property
    def more(self) -> int:
        """Return how many are not shown."""
        return self.count - len(self.rows)


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two checkpoints."""

    run_id: int
    number: int
    own: bool  # of the path of the run whose page this is
    words: str
    at: Moment


@dataclass(frozen=True, kw_only=True)
class DiffPage:
    run_id: int
    run_title: str
    groups_a: tuple[Group, ...]
    groups_b: tuple[Group, ...]
    split: bool
    a: Side | None = None
    b: Side | None = None
    query: str = ""  # the pair, for links
    sections: tuple[DiffSection, ...] = ()
    total: int = 0
    patch: str = ""  # empty where it is too large to copy; it can be saved then
    whole: bool = True
    short: bool = False  # something was too large to look for equal parts in it
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One step of an attempt."""

    title: str
    status: str
    text: str
    position: int


@dataclass(frozen=True, kw_only=True)
class StepRow:
    kind: str  # same, changed, removed, added
    a: Cell | None
    b: Cell | None
    first: bool = False  # here they part


@dataclass(frozen=True, kw_only=True)
class Figure:
    label: str
    unit: str  # count, money, seconds or text
    a: object
    b: object
    differs: bool


@dataclass(frozen=True, kw_only=True)
class EffectPair:
    """An effect of either, or of both: a state, "kept" (another attempt did it), "would", or nothing."""

    what: str
    a: str = ""
    b: str = ""
    before: int = 0  # the run that did it before, where neither of the two did
    state: str = ""  # how it stands today, where it happened


@dataclass(frozen=True, kw_only=True)
class Attempt:
    run_id: int
    title: str
    status: str
    dry_run: bool
    sentence: str
    created_at: Moment
    current: bool


@dataclass(frozen=True, kw_only=True)
class ComparePage:
    a: Attempt | None = None
    b: Attempt | None = None
    choices: tuple[Group, ...] = ()
    shared: int = 0  # checkpoint up to which they are one
    figures: tuple[Figure, ...] = ()
    rows: tuple[StepRow, ...] = ()
    whole: bool = True
    effects: tuple[EffectPair, ...] = ()
    over: run_models.TakeOver | None = None
    error: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def went_out(self) -> int:
        """Return how many effects either did or tried out; what both only kept isn't one."""
        return sum(not pair.before for pair in self.effects)
