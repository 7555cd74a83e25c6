"""What the inbox shows. Conventions as in `page_models`."""

from dataclasses import dataclass

from runs.selectors.page_models import Amount, Choice, Fact, Moment, Page, Tab


@dataclass(frozen=True, kw_only=True)
class Handed:
    """Who has a question now, from whom, and why; `mine`: the reader has it."""

    to: str
    by: str
    note: str
    at: Moment
    mine: bool


@dataclass(frozen=True, kw_only=True)
class Span:
    """One time until which the question could be put off."""

    value: str
    label: str
    until: Moment


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody to whom the question could be handed."""

    value: int
    label: str
    me: bool = False


@dataclass(frozen=True, kw_only=True)
class Desk:
    """Whose question it is, until when the reader has put it off, and what they may do about both."""

    handed: Handed | None = None
    snoozed_until: Moment | None = None
    spans: tuple[Span, ...] = ()
    people: tuple[Person, ...] = ()
    may: bool = False


@dataclass(frozen=True, kw_only=True)
class InboxRow:
    review_id: int
    kind: str  # lifecycle.ReviewKind
    tier: int
    effect: str  # one sentence in plain words: "Send an e-mail to billing@example.com"
    decisive: tuple[Fact, ...]  # the arguments that tell this row from its neighbours
    about: str  # title of its plan step where nothing decisive is left to say: "Send reminder 2 to Kolb Cafe"
    agent: str
    run_id: int
    run_title: str
    waiting_since: Moment
    due_at: Moment | None
    overdue: bool
    parent: str = ""  # title of the run that handed this one its work
    tool: str = ""
    expires_at: Moment | None = None
    step: str = ""  # "step 4 of 9"
    cost: Amount | None = None  # spent by the run so far
    votes: str = ""  # "1 of 2 approvals", when more than one is needed
    blocked: str = ""  # why this person can't decide it: "You started this run."
    handed: Handed | None = None
    snoozed_until: Moment | None = None  # the reader has put it off
    again: bool = False  # the same was done before, or is asked about already
    together: bool = False  # may be decided together with others of its shape


@dataclass(frozen=True, kw_only=True)
class DecidedRow:
    review_id: int
    kind: str
    tier: int
    effect: str
    status: str  # lifecycle.Review
    by: str
    at: Moment
    reason: str
    run_id: int
    run_title: str


@dataclass(frozen=True, kw_only=True)
class Option:
    """One value of a field of the filter form."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class FilterForm:
    """The fields that have no chips, and what else the address holds."""

    tools: tuple[Option, ...]
    agents: tuple[Option, ...]
    ages: tuple[Option, ...]
    kept: tuple[tuple[str, str], ...]  # name and value of hidden fields
    opened: bool
    q: str  # what was searched for
    around: tuple[tuple[str, str], ...]  # hidden fields of the search: all the rest
    elsewhere: tuple[Choice, ...]  # the same words in other places
    clear: str  # address of the tab without filters


@dataclass(frozen=True, kw_only=True)
class View:
    """A saved narrowing of the list."""

    view_id: int
    name: str
    query: str
    current: bool
    mine: bool
    shared: bool
    by: str


@dataclass(frozen=True, kw_only=True)
class ViewDraft:
    """A name that was refused, to be drawn again; `view_id` where it was to be another view's."""

    name: str
    shared: bool
    error: str
    view_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class Reminder:
    """A pause that somebody set and that stands for longer than was meant."""

    run_id: int
    title: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class InboxPage:
    tabs: tuple[Tab, ...]
    tab: str  # the current one
    team: int  # how many wait in all
    filters: tuple[Choice, ...]
    form: FilterForm
    rows: tuple[InboxRow, ...]
    decided: tuple[DecidedRow, ...]  # filled on the tab "decided"
    page: Page
    filtered: bool
    known: str  # what the list holds, sent back so that news can be counted
    may_decide: bool  # False: may look, not decide
    pick: bool = False  # some of the rows can be decided together
    query: str = ""  # of tab and filters, carried to the questions and back
    views: tuple[View, ...] = ()
    earlier: str = ""  # query string of what was decided before today
    reminders: tuple[Reminder, ...] = ()  # of this person's own pauses
    nearly: tuple[str, ...] = ()  # limits of the day that are nearly or wholly used up

    @property
    def own_view(self) -> View | None:
        """Return the reader's own view that they look at."""
        return next((view for view in self.views if view.current and view.mine), None)

    @property
    def can_save(self) -> bool:
        """Return whether what is looked at could be kept under a name."""
        return self.filtered and not any(view.current for view in self.views)


@dataclass(frozen=True, kw_only=True)
class InboxNews:
    """What changed since the list was drawn (`?part=news&known=...`); `empty`: it had no rows."""

    fresh: int
    gone: int
    empty: bool
