"""What the plan editor and the versions of a plan show."""

import datetime
from dataclasses import dataclass, field

from runs.selectors import page_models


@dataclass(frozen=True, kw_only=True)
class Line:
    """One difference of one step: "arguments.to", before and after."""

    place: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class Changed:
    """One step that differs between two versions, in words: "moved from 3 to 1"."""

    id: str
    title: str
    kinds: tuple[str, ...]
    words: str
    lines: tuple[Line, ...]
    up: bool  # it stands earlier now


@dataclass(frozen=True, kw_only=True)
class Comparison:
    title: str  # "What you change"
    summary: str  # "1 moved, 2 added"
    changes: tuple[Changed, ...]


@dataclass(frozen=True, kw_only=True)
class Input:
    """One field of the open step."""

    name: str  # without the prefix
    label: str
    kind: str  # text, area, json, select or box
    value: str
    hint: str = ""
    error: str = ""
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Row:
    id: str
    number: int
    title: str
    state: str
    tool: str
    tier: int | None
    facts: tuple[page_models.Fact, ...]
    words: tuple[str, ...]  # what else the step does: "only if …", "for each …"
    gate: str  # "Somebody is asked first", empty without a gate
    lock: str
    locked: str  # why it can't be changed
    may_gate: bool
    kinds: tuple[str, ...]  # how it differs from the version that is changed
    up: bool  # it stands earlier than in that version
    doubts: tuple[str, ...]
    loses: bool  # saving takes back what was asked or approved for it
    here: bool
    ends: bool  # the run ends with it
    fields: tuple[Input, ...]  # of the open step


@dataclass(frozen=True, kw_only=True)
class EditorPage:
    run_id: int
    title: str
    sentence: str
    base: int
    rows: tuple[Row, ...]
    over: tuple[Row, ...]  # done steps at the head
    last: str  # the step behind which a new one goes at the end
    top: str  # the first step that can be moved, and the last
    bottom: str
    losing: tuple[str, ...]  # the steps for which saving takes back what was asked or approved
    text: str
    reason: str
    opened: str
    said: str
    as_json: bool
    estimate: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    changed: bool
    errors: dict[str, str] = field(default_factory=dict)
    blocked: str = ""  # why it can't be changed now
    may_pause: bool = False
    preparing: bool = False  # a new attempt that rests in a moment
    may_redrive: bool = False
    conflict: str = ""
    theirs: Comparison | None = None  # what the new version changed about the one that was seen
    newest: int = 0  # the version as it is now, where it is another


@dataclass(frozen=True, kw_only=True)
class Version:
    number: int
    author: str
    by_person: bool
    reason: str
    at: datetime.datetime
    run_id: int  # the attempt that holds it
    current: bool


@dataclass(frozen=True, kw_only=True)
class VersionsPage:
    run_id: int
    title: str
    versions: tuple[Version, ...]
    page: page_models.Page
    old: int
    new: int
    comparison: Comparison | None
