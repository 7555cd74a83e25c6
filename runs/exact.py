"""Exact JSON: one canonical text for one value, and the digests that name it.

What a person approves is bytes, so every stored value has exactly one text: ASCII JSON with sorted keys, no white
space, no duplicate keys and no NaN or Infinity. Non-ASCII is escaped, so NUL and lone surrogates survive storage.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
from collections.abc import Iterable
from typing import Any

MAX_BYTES = 1_000_000
"""Largest canonical text that is accepted from outside, in bytes."""

MAX_DEPTH = 64
"""Deepest nesting that is accepted from outside."""

EMPTY = "0" * 64
"""Digest before the first link of a chain."""

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)

_HEX64 = re.compile(r"[0-9a-f]{64}\Z")


class NotExact(ValueError):
    """This is not exact JSON."""


def canonical(value: Any, *, limit: int | None = MAX_BYTES) -> str:
    """Return the one text of `value`; refuse (NotExact) what JSON can't carry, is too deep or longer than `limit`."""
    _check(value, 0)
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotExact(f"This value can't be stored as JSON: {error}.") from error
    if limit is not None and len(text) > limit:
        raise NotExact(f"This is {len(text):,} bytes of JSON; the limit is {limit:,}.")
    return text


class Kept(dict[str, Any]):
    """An object that knows its one text. Nobody changes it."""

    text: str


def kept(text: str) -> Any:
    """Return the value of a canonical text; an object keeps the text, for `text_of`."""
    value = json.loads(text)
    if not isinstance(value, dict):
        return value
    known = Kept(value)
    known.text = text
    return known


def text_of(value: Any) -> str:
    """Return the one text of a value that is made of what passed `canonical` or `parse` before, and of our own words.

    The same text as `canonical` gives, without looking at each part again: the engine writes several a step.
    """
    return value.text if type(value) is Kept else _ENCODER.encode(value)


def parse(text: str, *, limit: int | None = MAX_BYTES) -> Any:
    """Return the value of a JSON text; refuse (NotExact) duplicate keys, NaN, Infinity, depth and length."""
    if limit is not None and len(text.encode("utf-8", "surrogatepass")) > limit:
        raise NotExact(f"This is {len(text):,} characters of JSON; the limit is {limit:,} bytes.")
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
    except NotExact:
        raise
    except RecursionError as error:
        raise NotExact(f"This JSON is nested deeper than {MAX_DEPTH} levels.") from error
    except json.JSONDecodeError as error:
        raise NotExact(
            f"This is not JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        ) from error
    except ValueError as error:
        raise NotExact("A number here has too many digits to be kept exactly.") from error
    _check(value, 0)
    return value


def stored(text: str) -> Any:
    """Return the value of a text that was canonical when stored: no limits, since it passed the door once."""
    return json.loads(text)


def digest(text: str) -> str:
    """Return the SHA-256 of a canonical text as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def digest_of(value: Any) -> str:
    """Return the digest of a value's canonical text."""
    return digest(text_of(value))


def digest_bytes(content: bytes) -> str:
    """Return the SHA-256 of bytes as 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def join(parts: Iterable[str | int]) -> bytes:
    """Return the parts as length-prefixed bytes, so that no two different lists give the same bytes."""
    out = bytearray()
    for part in parts:
        raw = str(part).encode("utf-8", "surrogatepass")
        out += len(raw).to_bytes(8, "big") + raw
    return bytes(out)


def link(*parts: str | int) -> str:
    """Return the SHA-256 over length-prefixed parts: the next head of a chain, or a digest over several fields."""
    return hashlib.sha256(join(parts)).hexdigest()


def seal(key: bytes, *parts: str | int) -> str:
    """Return the HMAC-SHA-256 over length-prefixed parts under `key`."""
    return hmac.new(key, join(parts), hashlib.sha256).hexdigest()


def is_digest(text: object) -> bool:
    """Return whether `text` looks like a digest of this module."""
    return isinstance(text, str) and _HEX64.match(text) is not None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise NotExact(f"The key {key!r} stands twice in one object; say which value is meant.")
        found[key] = value
    return found


def _constant(name: str) -> Any:
    raise NotExact(f"{name} is not a JSON number.")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotExact(f"The number {text[:40]} is too large to be kept exactly.")
    return number


def _check(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise NotExact(f"This JSON is nested deeper than {MAX_DEPTH} levels.")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotExact(f"The key {key!r} is not a string.")
            _check(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _check(item, depth + 1)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise NotExact(f"{value} is not a JSON number.")
    elif not (value is None or isinstance(value, str | bool | int)):
        raise NotExact(f"A {type(value).__name__} can't be stored as JSON.")
