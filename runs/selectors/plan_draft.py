"""A plan as text that a person can change, and what has become of it so far."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_SHOWN_AS_CODE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})

Step = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Draft:
    """The plan as a person has it in the form; `steps` is None where the text is no plan."""

    base: int  # the version that is changed
    text: str
    steps: tuple[Step, ...] | None = None
    reason: str = ""
    opened: str = ""  # the step whose fields are open
    typed: dict[str, str] = field(default_factory=dict)  # these fields as they were sent
    errors: dict[str, str] = field(default_factory=dict)
    at: str = ""  # the step that the person is at
    said: str = ""  # what was just done
    as_json: bool = False  # the text itself is what is looked at


def of(steps: Sequence[Step], *, base: int, reason: str = "") -> Draft:
    """Return a draft that changes nothing yet."""
    return Draft(base=base, text=as_text(steps), steps=tuple(steps), reason=reason)


def as_text(steps: Sequence[Step]) -> str:
    """Return the steps as indented JSON; what can't be seen stands as its code."""
    whole = [{"id": step["id"], "title": step["title"], "body": step["body"]} for step in steps]
    return pretty(whole)


def pretty(value: Any) -> str:
    """Return a value as indented JSON; what can't be seen stands as its code."""
    return "".join(_visible(sign) for sign in json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True))


def plain(text: str) -> bool:
    """Return whether every character of a text is seen as it is, so that it can stand in a field."""
    return all(_visible(sign) == sign for sign in text)


def _visible(sign: str) -> str:
    if sign in "\n " or unicodedata.category(sign) not in _SHOWN_AS_CODE:
        return sign
    return json.dumps(sign)[1:-1]
