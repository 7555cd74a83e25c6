"""What the review page shows so that checking is cheap: what was changed, what is like it, where it came from."""

import datetime
from dataclasses import dataclass

from runs import wording

Moment = datetime.datetime


@dataclass(frozen=True, kw_only=True)
class Changed:
    """One value that is another now; `name` is the top-level argument that it stands in.

    `words` are both side by side, line by line, where they are texts of some length.
    """

    name: str
    label: str
    before: str
    after: str
    words: tuple[wording.Row, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Change:
    """One edit."""

    by: str
    at: Moment
    reason: str
    rows: tuple[Changed, ...]


@dataclass(frozen=True, kw_only=True)
class Similar:
    """The last approved question of the same shape: what is different here; `same` is how many arguments are equal."""

    review_id: int
    run_title: str
    at: Moment
    rows: tuple[Changed, ...]
    more: int
    same: int


@dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """The same effect, released and done in another piece of work: there it counts as done, here it doesn't."""

    review_id: int
    run_id: int
    run_title: str
    at: Moment


@dataclass(frozen=True, kw_only=True)
class Since:
    """What is otherwise than when people were last asked about the same call."""

    world: tuple[Changed, ...]
    shown: tuple[Changed, ...]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where an argument's value came from; `position` is the line of the transcript that says it, 0 if there is none.

    `kind` is input, result, message, plan, person (an edit), or agent: found nowhere, so the agent wrote it.
    """

    place: str
    kind: str
    words: str
    position: int = 0
    part: bool = False  # the value stands within a longer text there
    quote: str = ""  # the words around it, in what a tool has read
    row: str = ""  # the stored values around it
    still: str = ""  # where the value that a person changed stands as it was


@dataclass(frozen=True, kw_only=True)
class Past:
    """One line of what became of this action so far."""

    position: int
    title: str
    who: str
    text: str
    at: Moment
    icon: str
    tone: str
    review_id: int | None
