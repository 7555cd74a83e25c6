"""What the API shows, as data: one description for the answers and for the OpenAPI document.

Exact JSON stands twice where bytes matter: as a value, and as the canonical text whose SHA-256 the digest is.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

Moment = datetime.datetime


def _shown(text: object) -> object:
    """Return a text whose lone surrogates, which no UTF-8 can carry, are visible escapes."""
    return text.encode("utf-8", "backslashreplace").decode() if isinstance(text, str) else text


Text = Annotated[str, BeforeValidator(_shown)]


class Record(BaseModel):
    """Common to all."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Said(Record):
    """Who asked for something, and why."""

    by: Text
    reason: Text


class Use(Record):
    """Used or allowed amounts; a measure that isn't named is not limited. Money in millionths of a dollar."""

    steps: int | None = None
    calls: int | None = None
    tokens: int | None = None
    cost_micro: int | None = None
    seconds: int | None = None


class RunLine(Record):
    """A run as lists show it. `url` is its page."""

    id: int
    title: Text
    agent: str
    agent_version: int
    mode: str
    status: str
    reason: str
    labels: dict[str, str]
    root: int
    superseded_by: int | None
    created_by: Text
    created_at: Moment
    ended_at: Moment | None
    open_reviews: tuple[int, ...]
    url: str


class Run(RunLine):
    """One run."""

    input: Any
    input_digest: str
    paused: Said | None
    stop_asked: Said | None
    parent: int | None
    children: tuple[int, ...]
    checkpoint: int
    position: int
    head: str
    used: Use
    cost_known: bool
    budget: Use
    summary: Text
    error: Text


class Entry(Record):
    """One line of a run's log; `head` chains its content to the line before."""

    position: int
    kind: str
    at: Moment
    content: Any
    head: str
    checkpoint: int | None
    boundary: str | None


class Effect(Record):
    """One effect on the world outside; `run` is the attempt that carried it out."""

    id: int
    tool: str
    identity: Any
    state: str
    key: str
    run: int
    action: int
    arguments_digest: str
    sends: int
    first_sent_at: Moment | None
    settled_at: Moment | None
    contradicted: bool
    receipt: Any


class Retype(Record):
    """What has to be typed again to approve."""

    field: Text
    value: Text


class Given(Record):
    """One decision."""

    by: Text
    verdict: str
    reason: Text
    revision: int
    at: Moment
    channel: str


class ReviewLine(Record):
    """A question as lists show it."""

    id: int
    run: int
    run_title: Text
    agent: str
    kind: str
    status: str
    tier: int
    title: Text
    tool: str
    opened_at: Moment
    due_at: Moment
    expires_at: Moment | None
    closed_at: Moment | None
    url: str


class Review(ReviewLine):
    """One question with all that an answer to it has to name.

    `blocked` says why this token may not answer. `sound` is false where the stored arguments no longer have their
    digest; then nobody may approve. A decision on an open question is shown to who gave it, and to nobody else.
    """

    revision: int
    digest: str
    evidence_number: int
    tightened: int
    verdicts: tuple[str, ...]
    blocked: Text
    arguments: Any
    arguments_text: str
    arguments_digest: str
    sound: bool
    preview: Any
    precondition: Any
    content: Any
    reason_required: bool
    retype: Retype | None
    groups: tuple[str, ...]
    quorum: int
    votes: int
    separation: bool
    undo_seconds: float
    answer: str
    decisions: tuple[Given, ...]
    seen: str


class Agent(Record):
    """An agent that can be started, with the JSON Schema of its input."""

    name: str
    title: Text
    project: str
    version: int
    input_schema: Any


class Token(Record):
    """The token that asks."""

    name: Text
    kind: str
    acts: tuple[str, ...]
    expires_at: Moment


class Me(Record):
    """Who asks, and what the token lets them do here: never more than the person may."""

    username: str
    roles: tuple[str, ...]
    may: tuple[str, ...]
    token: Token


class Runs(Record):
    """One page; `next` is the address of the following one."""

    items: tuple[RunLine, ...]
    next: str | None


class Entries(Record):
    """One page of a log, oldest first; `next` also waits for what is not written yet."""

    items: tuple[Entry, ...]
    next: str


class Effects(Record):
    """One page."""

    items: tuple[Effect, ...]
    next: str | None


class Reviews(Record):
    """One page."""

    items: tuple[ReviewLine, ...]
    next: str | None


class Agents(Record):
    """All of them."""

    items: tuple[Agent, ...]
