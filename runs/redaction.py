"""Taking the values of secrets out of whatever is stored, shown or logged. Pure, and only of this process.

What it finds is each value that this process has resolved, as it is and as programs usually write it: escaped for JSON
or Python, quoted for addresses, in hexadecimal, in base64 (also in the middle of something longer), and the long lines
of one that has many. It can't find a value that a tool has cut, encrypted, hashed or told apart in another way.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

T = TypeVar("T")

SHORTEST = 8
"""A shorter value would be found in what has nothing to do with it; it is no secret either."""
LINE = 16
"""Lines of a value with many are looked for from this length on."""

_known: dict[str, str] = {}
_pattern: re.Pattern[str] | None = None


def know(name: str, value: str) -> None:
    """Take `value` out of everything from now on; `[secret://name]` stands in its place."""
    global _pattern  # noqa: PLW0603 one set of values for the process, as its log is one
    said = f"[secret://{name}]"
    fresh = {form: said for form in forms(value) if _known.get(form) != said}
    if not fresh:
        return
    _known.update(fresh)
    longest = sorted(_known, key=len, reverse=True)
    _pattern = re.compile("|".join(map(re.escape, longest)))


def forget() -> None:
    """Know no value any more."""
    global _pattern  # noqa: PLW0603 as above
    _known.clear()
    _pattern = None


def clean(found: T) -> T:
    """Return the texts, lists and objects of JSON without the values that are known."""
    return found if _pattern is None else _clean(found, _pattern)


def clean_bytes(content: bytes) -> bytes:
    """Return the content of a file without the values that are known; one without any is returned as it is."""
    if _pattern is None:
        return content
    text: str = _clean(content.decode("utf-8", "surrogateescape"), _pattern)
    return text.encode("utf-8", "surrogateescape")


def of_error(error: BaseException) -> str:
    """Return kind and message of an error, without the values that are known."""
    return clean(f"{type(error).__name__}: {error}")


def forms(value: str) -> set[str]:
    """Return how a value may be written, each at least `SHORTEST` characters long."""
    raw = value.encode("utf-8", "surrogatepass")
    found = {value, quote(value, errors="replace"), quote(value, safe="", errors="replace"),
             quote_plus(value, errors="replace"), raw.hex(), raw.hex().upper(), repr(value)[1:-1],
             json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}  # fmt: skip
    found |= {line.strip() for line in value.splitlines() if len(line.strip()) >= LINE}
    for shift in range(3):  # where it stands in what was encoded: the characters that only it decides
        coded = base64.b64encode(b"\0" * shift + raw).decode()
        start, end = (0, 2, 3)[shift], len(coded.rstrip("=")) - (0 if (shift + len(raw)) % 3 == 0 else 1)
        found |= {coded[start:end], coded[start:end].translate(str.maketrans("+/", "-_"))}
    return {form for form in found if len(form) >= SHORTEST}


def _clean(found: Any, pattern: re.Pattern[str]) -> Any:
    match found:
        case str():
            return pattern.sub(lambda hit: _known[hit[0]], found)
        case dict():
            return {_clean(name, pattern): _clean(one, pattern) for name, one in found.items()}
        case list() | tuple():
            return type(found)(_clean(one, pattern) for one in found)
    return found
