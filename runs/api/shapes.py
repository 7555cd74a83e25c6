"""The bodies that the API takes. A field that isn't known is refused: a misspelt one must not be lost silently."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import ConfigDict, Field, StringConstraints

from runs.selectors import records
from runs.transitions import redrives

Digest = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
Number = Annotated[int, Field(ge=0, le=2**31 - 1)]
Key = Annotated[int, Field(ge=1, le=2**63 - 1)]
Words = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00]*$")]  # what a column can hold
Scalar = str | int | float


class Body(Schema):
    """Common to all."""

    model_config = ConfigDict(extra="forbid")


class File(Body):
    """A file: its name, and its bytes in base64."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=255)]
    content: Annotated[str, Field(json_schema_extra={"contentEncoding": "base64"})]


class Start(Body):
    """What to start: the agent's name, its inputs by name, files by name, and labels to tell the run apart by.

    A `dry_run` only says what it would do and whom it would ask; nothing goes out.
    """

    agent: Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"^[^\x00]*$")]
    title: Annotated[str, StringConstraints(max_length=200)] = ""
    input: dict[str, Scalar] = {}
    files: dict[str, File] = {}
    labels: dict[str, str] = {}
    dry_run: bool = False


class Reason(Body):
    """Why; it stays in the record."""

    reason: str = ""


class Nothing(Body):
    """An empty object, or no body at all."""


class Corrected(Body):
    """Corrected arguments of a call that is open at the checkpoint: line and index of the call."""

    call: tuple[Number, Number]
    arguments: dict[str, Any]


class Redrive(Body):
    """Where to go on from, why, and what is otherwise. `seen` is the attempt whose place it takes."""

    checkpoint: Number
    reason: str
    seen: Key | None = None
    input: dict[str, Scalar] = {}
    files: dict[str, File] = {}
    arguments: list[Corrected] = []
    dispositions: dict[Key, Literal["keep", "again", "undo_first"]] = {}
    instructions: str | None = None
    raises: dict[Literal["steps", "calls", "tokens", "cost_micro", "seconds"], Number] = {}
    hold: bool = False


class Decide(Body):
    """An answer, and exactly what was seen: `revision`, `digest`, `evidence_number` and `seen` of the question.

    With `tightened` the answer is refused where a stricter policy has changed the question's terms since then; without
    it, it counts on the terms as they are now.
    """

    verdict: str
    revision: Number
    digest: Digest
    evidence_number: Number = 0
    tightened: Number | None = None
    seen: str = ""
    reason: str = ""
    retype: str = ""
    receipt: str = ""
    amount: Number | None = None
    which: Key | None = None
    value: Any = None
    stop: bool = False


class Questions(Schema):
    """What a list of questions is narrowed to. `mine` are those that one may answer."""

    status: Literal["open", "closed"] = "open"
    tab: Literal["mine", "team", "snoozed"] = "team"
    kind: Literal["", "action", "plan", "question", "in_doubt", "failure", "budget"] = ""
    tier: Annotated[int, Field(ge=0, le=3)] | None = None
    overdue: bool = False
    tool: Words = ""
    agent: Words = ""
    q: Words = ""
    run: Key | None = None
    cursor: Annotated[str, StringConstraints(pattern="^([0-9]{1,18}(-[0-9]{1,18})?)?$")] = ""
    limit: Annotated[int, Field(ge=1, le=records.MOST)] = 50


class Problem(Schema):
    """What went wrong (RFC 9457): a sentence in `detail`, a word for programs at the end of `type`."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[Fault] = []
    decided: dict[str, Any] | None = None


class Fault(Schema):
    """One field that doesn't fit: a JSON pointer into the body, or the name of a parameter."""

    detail: str
    pointer: str | None = None
    parameter: str | None = None


Problem.model_rebuild()
assert redrives.DISPOSITIONS == ("keep", "again", "undo_first")


class NotBase64(ValueError):
    """A file's content isn't base64; `name` is the input's."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The content of the file {name!r} is not base64.")
        self.name = name


def read(files: Mapping[str, File]) -> dict[str, tuple[str, bytes]]:
    """Return names and bytes of the files; refuse (NotBase64) a content that isn't base64."""
    found = {}
    for name, file in files.items():
        try:
            found[name] = file.name, base64.b64decode(file.content, validate=True)
        except (binascii.Error, ValueError) as error:
            raise NotBase64(name) from error
    return found


def typed(values: Mapping[str, Scalar]) -> dict[str, str]:
    """Return the values as a form would carry them, which is how an agent's input is checked."""
    return {name: str(value) for name, value in values.items()}
