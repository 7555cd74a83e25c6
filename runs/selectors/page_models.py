"""What each page shows, as frozen data: selectors fill these, templates read nothing else.

Texts of agents, models and tools are plain `str` here and go through `safe_text` in the template. Amounts are
`Decimal` or None for "unknown"; times are aware; every list is already cut to one page. The review page is in
`review_models`, the run page in `run_models`, the inbox in `inbox_models`.
"""

import datetime
import decimal
from dataclasses import dataclass, field

Moment = datetime.datetime
Amount = decimal.Decimal


@dataclass(frozen=True, kw_only=True)
class Page:
    """Keyset paging: query strings such as `before=180`, empty when there is no such page."""

    older: str = ""
    newer: str = ""
    shown: int = 0
    total: int | None = None


@dataclass(frozen=True, kw_only=True)
class Shell:
    """`shell` on every page (context processor, lazy: error pages must not need the database)."""

    queue_count: int
    can_start: bool
    is_admin: bool = False
    can_audit: bool = False
    can_system: bool = False
    can_switch: bool = False
    can_tell: bool = False
    limited: bool = False  # to some agents
    unread: int = 0  # notices that this person hasn't looked at
    groups: tuple[str, ...] = ()
    halted: str = ""  # why no effect starts anywhere, where the database is the reason
    paused: str = ""  # "The tool “Send an e-mail” is paused: Wrong server."


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One line of a key/value list; `decisive` is what a reviewer must look at."""

    label: str
    value: str
    decisive: bool = False
    mono: bool = False


@dataclass(frozen=True, kw_only=True)
class Tab:
    name: str  # value of the `tab` parameter
    label: str
    count: int | None
    current: bool
    query: str  # query string without "?"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One chip of a filter."""

    label: str
    query: str
    current: bool
    count: int | None = None


# Runs


@dataclass(frozen=True, kw_only=True)
class RunRow:
    run_id: int
    title: str
    status: str
    reason: str  # status sentence: "Waiting for approval of an e-mail since 12:04"
    agent: str
    started_by: str
    created_at: Moment
    changed_at: Moment
    steps_done: int
    steps_not_done: int  # by decision or by failure
    steps_total: int
    cost: Amount | None
    open_reviews: int
    last_checkpoint: int | None = None
    dry_run: bool = False
    replaced_by: int | None = None  # the later attempt that took over
    attempt: str = ""  # "attempt 2 of run 1"
    labels: tuple[str, ...] = ()  # "team=dunning"


@dataclass(frozen=True, kw_only=True)
class InputField:
    """One input of an agent; `kind` is file, date, number, text or area. Errors stand under its name."""

    name: str
    label: str
    hint: str
    kind: str
    value: str = ""
    required: bool = False


@dataclass(frozen=True, kw_only=True)
class AgentChoice:
    name: str
    label: str
    description: str
    fields: tuple[InputField, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StartForm:
    """Drawn with what was typed before after an error; fields: agent, title, labels, token, and the agents' own."""

    agents: tuple[AgentChoice, ...]
    token: str
    agent: str = ""
    title: str = ""
    dry_run: bool = False
    labels: str = ""
    errors: dict[str, str] = field(default_factory=dict)
    opened: bool = False


@dataclass(frozen=True, kw_only=True)
class SwitchLine:
    what: str  # "all", "agent:<name>" or "tool:<name>"
    words: str  # "The tool “Send an e-mail”"
    since: Moment
    by: str
    reason: str
    held: int  # runs that haven't ended


@dataclass(frozen=True, kw_only=True)
class SwitchBoard:
    """What is switched off, for everybody to see; `choices` are what an administrator can switch off."""

    lines: tuple[SwitchLine, ...]
    may: bool
    choices: tuple[tuple[str, str], ...] = ()  # value, words


@dataclass(frozen=True, kw_only=True)
class RunsPage:
    filters: tuple[Choice, ...]  # All, Running, Waiting, Failed, Done, Stopped
    rows: tuple[RunRow, ...]
    page: Page
    filtered: bool
    q: str  # what was searched for
    around: tuple[tuple[str, str], ...]  # hidden fields of the search: all the rest
    start: StartForm | None  # None: this person may not start runs
    causes: tuple[Choice, ...] = ()  # of the failed runs that wait for somebody
    cause: str = ""  # the one that is chosen, in words
    many: str = ""  # its key, for who may go on with its runs
    labelled: Choice | None = None  # the label that they are narrowed to; its query lets it go
