"""What a browser brings back of an agent's form: only what was typed anew counts, all else stays as it was."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from runs.forms.schemas import reading

Sent = Mapping[str, Sequence[str]]
Shown = Mapping[str, str]

_UNTYPED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""What no field brings back as it was."""
LONGEST = 100_000
"""A longer text is changed in the YAML: a form would send it twice."""
_BREAKS = re.compile("\r\n?")


def carried(value: Any, *, lines: bool = False) -> bool:
    """Return whether a field can show this value: a text, of one line unless it may have several."""
    if not isinstance(value, str) or len(value) > LONGEST:
        return False
    return not _UNTYPED.search(value) and (lines or not re.search(r"[\r\n]", value))


def plain(text: str) -> str:
    """Return a text with the line breaks that we store; a browser sends others."""
    return _BREAKS.sub("\n", text)


def anew(sent: Sent, shown: Shown, name: str) -> str | None:
    """Return what was typed in the place of what this field showed; None where it stands as it was, or wasn't there."""
    given = reading.last(sent, name)
    if given is None or name not in shown or plain(given) == plain(shown[name]):
        return None
    return plain(given)


def ticked(sent: Sent, shown: Shown, name: str) -> bool | None:
    """Return what a tick box says anew; None where it stands as it was, or wasn't there."""
    now = reading.last(sent, name) is not None
    return None if name not in shown or now == bool(shown[name]) else now


def put(document: dict[str, Any], key: str, value: Any) -> None:
    """Say this in the document; nothing isn't said."""
    if value in ("", False):
        document.pop(key, None)
    else:
        document[key] = value
