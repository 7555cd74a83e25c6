"""The text of an expression, read without evaluating it: its bounds, its names, the holes of a template."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_LENGTH = 2_000
MAX_NESTING = 24
MAX_MACROS = 8
MAX_MACRO_NESTING = 2

_MACROS = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter"})
_BUILDS = frozenset({"map", "filter"})  # these copy their list as it grows
_WORDS = frozenset({"true", "false", "null", "in"})

_TOKEN = re.compile(
    r"""
      (?P<skip> \s+ | //[^\n]* )
    | (?P<string>
        (?:[rR][bB]?|[bB][rR]) (?: \"{3}.*?\"{3} | '{3}.*?'{3} | "[^"\n]*" | '[^'\n]*' )
      | [bB]? (?: \"{3}(?:\\.|[^\\])*?\"{3} | '{3}(?:\\.|[^\\])*?'{3} )
      | [bB]? (?: "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' )
      )
    | (?P<number> \d[\w.]* )
    | (?P<name> [A-Za-z_]\w* )
    | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL,
)


class Unreadable(ValueError):
    """The text breaks a bound or has no end; the message is the rest of a sentence."""


@dataclass(frozen=True)
class Token:
    """One word of an expression and where it ends."""

    kind: str
    text: str
    end: int


@dataclass(frozen=True)
class Hole:
    """One `${expression}` of a template."""

    expression: str


def bounded(expression: str) -> None:
    """Refuse (Unreadable) a text that is too long or too deep, or has too many macros."""
    if len(expression) > MAX_LENGTH:
        raise Unreadable(f"it has {len(expression):,} characters; the limit is {MAX_LENGTH:,}")
    deepest, macros, nested, _ = _shape(expression)
    if deepest > MAX_NESTING:
        raise Unreadable(f"it is nested {deepest} levels deep; the limit is {MAX_NESTING}")
    if macros > MAX_MACROS:
        raise Unreadable(f"it goes through lists {macros} times; the limit is {MAX_MACROS}")
    if nested > MAX_MACRO_NESTING:
        raise Unreadable(f"it goes through lists inside of lists {nested} deep, not {MAX_MACRO_NESTING}")


def work(expression: str) -> int:
    """Return the power of the longest list's length to which the work of this expression may grow."""
    return _shape(expression)[3]


def free_names(expression: str) -> frozenset[str]:
    """Return the variables that the expression takes from outside."""
    tokens = _tokens(expression)
    bound = {tokens[at + 2].text for at in _macro_starts(tokens) if at + 2 < len(tokens)}
    found = set()
    for at, token in enumerate(tokens):
        if token.kind != "name" or token.text in _WORDS or token.text in bound:
            continue
        after_dot = at > 0 and tokens[at - 1].text == "."
        called = at + 1 < len(tokens) and tokens[at + 1].text == "("
        if not after_dot and not called:
            found.add(token.text)
    return frozenset(found)


def members(expression: str, root: str) -> frozenset[str]:
    """Return the keys that are read right below `root`; refuse (Unreadable) any other use of it."""
    tokens = _tokens(expression)
    found = set()
    for at, token in enumerate(tokens):
        if token.kind != "name" or token.text != root or (at > 0 and tokens[at - 1].text == "."):
            continue
        match [item.text for item in tokens[at + 1 : at + 4]]:
            case [".", name, *_] if tokens[at + 2].kind == "name":
                found.add(name)
            case ["[", key, "]"] if tokens[at + 2].kind == "string" and "\\" not in key and key[0] in "'\"":
                found.add(key.strip(key[0]))
            case _:
                raise Unreadable(f'{root} is used without saying which; write {root}.name or {root}["name"]')
    return frozenset(found)


def split(template: str) -> tuple[str | Hole, ...]:
    """Return the texts and holes of a template in order; refuse (Unreadable) a hole without its end."""
    parts: list[str | Hole] = []
    text = ""
    at = 0
    while (start := template.find("${", at)) >= 0:
        if start > 0 and template[start - 1] == "$":  # "$${" is a written "${"
            text += template[at : start - 1] + "${"
            at = start + 2
            continue
        text += template[at:start]
        end = _close(template, start + 2)
        if text:
            parts.append(text)
        parts.append(Hole(template[start + 2 : end - 1].strip()))
        text, at = "", end
    text += template[at:]
    if text or not parts:
        parts.append(text)
    return tuple(parts)


def _close(template: str, start: int) -> int:
    depth = 0
    for token in _scan(template, start):
        if token.text == "{":
            depth += 1
        elif token.text == "}":
            if depth == 0:
                return token.end
            depth -= 1
    raise Unreadable("a ${ has no closing }")


@functools.lru_cache(maxsize=1024)
def _tokens(expression: str) -> tuple[Token, ...]:
    return tuple(_scan(expression, 0))


def _scan(text: str, start: int) -> Iterator[Token]:
    for match in _TOKEN.finditer(text, start):
        kind = match.lastgroup or "mark"
        if kind != "skip":
            yield Token(kind, match.group(), match.end())


def _macro_starts(tokens: tuple[Token, ...]) -> list[int]:
    return [
        at
        for at, token in enumerate(tokens)
        if token.text in _MACROS
        and token.kind == "name"
        and at > 0
        and tokens[at - 1].text == "."
        and at + 1 < len(tokens)
        and tokens[at + 1].text == "("
    ]


def _shape(expression: str) -> tuple[int, int, int, int]:
    """Return the deepest nesting, the number of macros, their deepest nesting, and the power of the work."""
    tokens = _tokens(expression)
    macros = set(_macro_starts(tokens))
    deepest = nested = power = 0
    stack: list[int] = []  # what each open bracket adds to the power: 0, 1, or 2 where a list is built
    for at, token in enumerate(tokens):
        if token.kind != "mark":
            continue
        if token.text in "([{":
            opener = at - 1 if at - 1 in macros else None
            stack.append(0 if opener is None else 2 if tokens[opener].text in _BUILDS else 1)
            deepest = max(deepest, len(stack))
            levels = [item for item in stack if item]
            nested = max(nested, len(levels))
            power = max(power, sum(1 for _ in levels) + (1 if 2 in levels else 0))
        elif token.text in ")]}" and stack:
            stack.pop()
    return deepest, len(macros), nested, power
