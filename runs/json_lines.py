"""Canonical JSON text, laid out in numbered lines for reading: pure, lossless, nothing cut off.

Numbers keep the digits they are stored with, keys keep their order, and a string that holds line breaks goes
on over several lines. What can't be laid out (broken or too deeply nested) comes back as the stored text itself.
"""

import enum
import json
from collections.abc import Iterator
from dataclasses import dataclass


class Part(enum.StrEnum):
    PUNCTUATION = "punctuation"
    KEY = "key"
    STRING = "string"
    NUMBER = "number"
    WORD = "word"  # true, false, null
    BREAK = "break"  # a line break inside a string
    RAW = "raw"


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    part: Part
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """`top` is the name of the top-level argument that the line belongs to, empty for the outer braces."""

    depth: int
    tokens: tuple[Token, ...]
    top: str = ""
    continued: bool = False


@dataclass(frozen=True, slots=True)
class _Number:
    literal: str


@dataclass(frozen=True, slots=True)
class _Pairs:
    items: list[tuple[str, object]]


def _escaped(text: str) -> str:
    """Only what would make the quotes ambiguous; invisible characters are the renderer's work."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _mark(text: str) -> Token:
    return Token(part=Part.PUNCTUATION, text=text)


def _scalar(value: object) -> list[list[Token]]:
    """One list of tokens a line."""
    if isinstance(value, str):
        pieces = _escaped(value).split("\n")
        lines: list[list[Token]] = []
        for index, piece in enumerate(pieces):
            line = [_mark('"')] if index == 0 else []
            if piece:
                line.append(Token(part=Part.STRING, text=piece))
            line.append(_mark('"') if index == len(pieces) - 1 else Token(part=Part.BREAK, text="\n"))
            lines.append(line)
        return lines
    if isinstance(value, _Number):
        return [[Token(part=Part.NUMBER, text=value.literal)]]
    return [[Token(part=Part.WORD, text={True: "true", False: "false", None: "null"}[value])]]  # type: ignore[index]


def _walk(value: object, *, depth: int, lead: list[Token], tail: str, top: str) -> Iterator[Line]:
    if isinstance(value, _Pairs | list):
        opening, closing = ("{", "}") if isinstance(value, _Pairs) else ("[", "]")
        members: list[tuple[str | None, object]] = (
            list(value.items) if isinstance(value, _Pairs) else [(None, item) for item in value]
        )
        if not members:
            yield Line(depth=depth, tokens=(*lead, _mark(opening + closing + tail)), top=top)
            return
        yield Line(depth=depth, tokens=(*lead, _mark(opening)), top=top)
        for index, (key, member) in enumerate(members):
            inner: list[Token] = []
            if key is not None:
                inner = [_mark('"'), Token(part=Part.KEY, text=_escaped(key)), _mark('": ')]
            comma = "," if index < len(members) - 1 else ""
            yield from _walk(
                member,
                depth=depth + 1,
                lead=inner,
                tail=comma,
                top=key if depth == 0 and key is not None else top,
            )
        yield Line(depth=depth, tokens=(_mark(closing + tail),), top=top)
        return
    rows = _scalar(value)
    for index, row in enumerate(rows):
        tokens = [*lead, *row] if index == 0 else row
        if index == len(rows) - 1 and tail:
            tokens = [*tokens, _mark(tail)]
        yield Line(depth=depth + (index > 0), tokens=tuple(tokens), top=top, continued=index > 0)


def lines(text: str) -> list[Line]:
    """The lines of `text`; for text that isn't JSON, one raw line each. Never raises."""
    try:
        value = json.loads(
            text, parse_int=_Number, parse_float=_Number, parse_constant=_Number, object_pairs_hook=_Pairs
        )
        return list(_walk(value, depth=0, lead=[], tail="", top=""))
    except (ValueError, RecursionError):
        return [Line(depth=0, tokens=(Token(part=Part.RAW, text=row),)) for row in text.split("\n")]
