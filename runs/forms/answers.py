"""The answer form: a value for what an agent asks, by fields made from the schema that it asked with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runs import exact, jsonschemas
from runs.forms import decisions, schemas
from runs.forms.schemas import reading

ANSWER, CANNOT = "answer", "cannot"


@dataclass(frozen=True, kw_only=True)
class Given:
    """The form as it is drawn or was sent. `value` is the JSON text of the answer."""

    fields: schemas.Field
    act: str = ""
    value: str | None = None
    reason: str = ""
    revision: int = 0
    digest: str = ""
    token: str = ""
    focus: str = ""
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def decides(self) -> bool:
        """Return whether a button was pressed that gives an answer: the others only change the form."""
        return self.act in {ANSWER, CANNOT}

    @property
    def listed(self) -> dict[str, str]:
        """Return the sentences for the summary, each with the label of its field."""
        return schemas.listed(self.fields, self.errors)


def begin(schema: Mapping[str, Any]) -> Given:
    """Return the form of an answer that nobody has given yet."""
    return Given(fields=schemas.blank(schema))


def read(sent: Mapping[str, Sequence[str]], schema: Mapping[str, Any]) -> Given:
    """Return what was sent, with one sentence for each field that can't stay so."""
    act = reading.last(sent, "act") or ANSWER
    reason = (reading.last(sent, "reason") or "").strip()
    fields = schemas.read(schema, sent, schemas.MISSING, asked=True, act=act)
    errors: dict[str, str] = {}
    value: str | None = None
    if act in {ANSWER, "check"}:
        try:
            found = schemas.checked(fields, schema)
        except jsonschemas.BadSchema as error:
            found = schemas.Result(errors={"": str(error)})
        errors = dict(found.errors)
        value = exact.canonical(found.value, limit=None) if not errors else None
    if act == CANNOT and not reason:
        errors["reason"] = "Say why you can't answer; the agent reads it."
    if len(reason) > decisions.LONGEST:
        errors["reason"] = (
            f"This is too long: {len(reason):,} characters; at most {decisions.LONGEST:,} are kept."
        )
    elif "\x00" in reason:
        errors["reason"] = "This holds a NUL character, which can't be kept."
    verb, _, place = act.partition(":")
    return Given(
        fields=schemas.marked(fields, errors),
        act=act,
        value=value,
        reason=reason,
        revision=decisions.number(reading.last(sent, "revision") or ""),
        digest=(reading.last(sent, "digest") or "")[:64],
        token=(reading.last(sent, "token") or "")[:64],
        focus=schemas.focus(verb, place, fields),
        errors=errors,
    )
