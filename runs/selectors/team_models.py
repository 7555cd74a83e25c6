"""What the team page and the page of a person show, as frozen data."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field

from runs.selectors import page_models


@dataclass(frozen=True, kw_only=True)
class Person:
    user_id: int
    user_name: str
    name: str  # empty where it is the user name
    email: str
    groups: tuple[str, ...]
    active: bool
    mine: bool
    invited_until: page_models.Moment | None  # has a link and no password yet
    seen_at: page_models.Moment | None


@dataclass(frozen=True, kw_only=True)
class Group:
    name: str
    role: bool  # it gives rights; the others are only asked
    about: str
    members: int
    agents: tuple[str, ...]  # that it is limited to
    on_duty: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Shift:
    shift_id: int
    group: str
    person: str
    days: str
    hours: str
    dates: str
    now: bool


@dataclass(frozen=True, kw_only=True)
class Delegation:
    delegation_id: int
    principal: str
    delegate: str
    until: page_models.Moment
    reason: str
    may_end: bool


@dataclass(frozen=True, kw_only=True)
class Step:
    rule: str
    says: str
    steps: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Choice:
    value: str
    label: str
    about: str = ""
    chosen: bool = False


@dataclass(frozen=True, kw_only=True)
class TeamPage:
    people: tuple[Person, ...]
    page: page_models.Page
    groups: tuple[Group, ...]
    shifts: tuple[Shift, ...]
    delegations: tuple[Delegation, ...]
    steps: tuple[Step, ...]
    manages: bool
    decides: bool
    deciders: tuple[Choice, ...]
    members: tuple[Choice, ...]  # of the reviewer groups, "group:person"
    roles: tuple[Choice, ...]
    days: tuple[Choice, ...]
    agents: tuple[Choice, ...]
    today: datetime.date
    zone: str


@dataclass(frozen=True, kw_only=True)
class PersonPage:
    person: Person
    choices: tuple[Choice, ...]
    agents: tuple[Choice, ...]  # those that this person is limited to are chosen
    limited: bool
    seen: str  # the groups that the form shows, for the one who comes second
    tokens: int
    has_password: bool


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What was typed into one of the forms, `act` says which, and what is wrong with it."""

    act: str = ""
    values: dict[str, str] = field(default_factory=dict)
    chosen: tuple[str, ...] = ()
    error: str = ""
