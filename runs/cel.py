"""Expressions and templates: CEL, bounded and exact.

One language for the conditions, loops and templates of playbooks, and later for policies. An expression is
compiled once. It has no time limit of its own, so its text is bounded (length, nesting, macros inside macros)
and so is the work that the macros can make out of the lists that it is given.

Two functions are added to the language: `join(list, separator)` and `plural(3, "row")` -> "3 rows".
"""

from __future__ import annotations

import functools
import importlib.util
import math
import sys
from collections.abc import Iterator, Mapping
from importlib import machinery
from pathlib import Path
from typing import Any

from runs import celtext, exact

MAX_WORK = 10_000_000
"""Most items that the macros of one expression may visit: about five seconds at the very worst."""

_INT64 = range(-(2**63), 2**63)


class CelError(ValueError):
    """The expression can't be read or evaluated; the message is one sentence that quotes it."""


def check(expression: str) -> frozenset[str]:
    """Return the names that the expression needs from outside; refuse (CelError) what can't be compiled."""
    _program(expression)
    return celtext.free_names(expression)


def references(expression: str, root: str) -> frozenset[str]:
    """Return the first keys that the expression reads from the variable `root`: `steps.a` and `steps["b-c"]`.

    Refuse (CelError) an expression that uses `root` in another way: nobody could know what it will read.
    """
    try:
        return celtext.members(expression, root)
    except celtext.Unreadable as error:
        raise _failed(expression, str(error)) from error


def evaluate(expression: str, variables: Mapping[str, Any], *, most: int = MAX_WORK) -> Any:
    """Return the JSON value of the expression; refuse (CelError) what fails or gives anything but JSON.

    `most` items may be visited by its macros.
    """
    program = _program(expression)
    names = celtext.free_names(expression)
    given = {name: variables[name] for name in names if name in variables}
    longest = max((_measure(expression, value) for value in given.values()), default=0)
    if max(longest, 1) ** celtext.work(expression) > most:
        raise _failed(expression, f"it would go through a list of {longest:,} items too many times")
    try:
        context = _engine().Context(variables=given, functions={"join": _join, "plural": _plural})
        value = program.execute(context)
    except BaseException as error:
        raise _explained(expression, error) from error
    return _plain(expression, value)


def truth(expression: str, variables: Mapping[str, Any]) -> bool:
    """Return whether the expression gives the literal `true`; everything else that it gives is false."""
    return evaluate(expression, variables) is True


def render(template: Any, variables: Mapping[str, Any]) -> Any:
    """Return `template` with each `${expression}` in its strings replaced, also inside lists and objects.

    A string that is one `${...}` and nothing else becomes the value itself, with its type. In a longer string
    only texts, numbers, true and false have a place; null, lists and objects are refused (CelError). `$${`
    means `${`.
    """
    if isinstance(template, str):
        parts = _parts(template)
        if len(parts) == 1 and isinstance(parts[0], celtext.Hole):
            return evaluate(parts[0].expression, variables)
        return "".join(
            part if isinstance(part, str) else _text(part.expression, evaluate(part.expression, variables))
            for part in parts
        )
    if isinstance(template, Mapping):
        return {key: render(item, variables) for key, item in template.items()}
    if isinstance(template, list | tuple):
        return [render(item, variables) for item in template]
    return template


def expressions(template: Any) -> Iterator[str]:
    """Return every expression inside of a template, in order; refuse (CelError) a `${` without its end."""
    if isinstance(template, str):
        yield from (part.expression for part in _parts(template) if isinstance(part, celtext.Hole))
    elif isinstance(template, Mapping):
        for item in template.values():
            yield from expressions(item)
    elif isinstance(template, list | tuple):
        for item in template:
            yield from expressions(item)


@functools.cache
def _engine() -> Any:
    """Return the library's compiled module alone: its package would load a command line tool of 25 MB."""
    if "cel.cel" in sys.modules:
        return sys.modules["cel.cel"]
    package = importlib.util.find_spec("cel")
    for folder in (package and package.submodule_search_locations) or ():
        for suffix in machinery.EXTENSION_SUFFIXES:
            file = Path(folder) / f"cel{suffix}"
            if file.is_file():
                loader = machinery.ExtensionFileLoader("cel.cel", str(file))
                spec = importlib.util.spec_from_file_location("cel.cel", file, loader=loader)
                assert spec is not None
                module = importlib.util.module_from_spec(spec)
                loader.exec_module(module)
                sys.modules["cel.cel"] = module
                return module
    raise CelError("The package common-expression-language is not installed.")


@functools.lru_cache(maxsize=1024)
def _program(expression: str) -> Any:
    try:
        celtext.bounded(expression)
        return _engine().compile(expression)
    except celtext.Unreadable as error:
        raise _failed(expression, str(error)) from error
    except CelError:
        raise
    except BaseException as error:
        raise _explained(expression, error) from error


@functools.lru_cache(maxsize=1024)
def _parts(template: str) -> tuple[str | celtext.Hole, ...]:
    try:
        return celtext.split(template)
    except celtext.Unreadable as error:
        raise _failed(template, str(error)) from error


def _measure(expression: str, value: Any) -> int:
    """Return the length of the longest list in a variable; refuse what the language would change."""
    longest = 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            longest = max(longest, len(item))
            waiting.extend(item.values())
        elif isinstance(item, list | tuple):
            longest = max(longest, len(item))
            waiting.extend(item)
        elif isinstance(item, str):
            try:
                item.encode()
            except UnicodeEncodeError as error:
                raise _failed(expression, "it reads a text with half a character in it") from error
        elif isinstance(item, int) and item not in _INT64:
            raise _failed(expression, f"it reads the number {item}, which is too large to stay exact")
    return longest


def _plain(expression: str, value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise _failed(expression, "it gives no finite number")
    try:
        exact.canonical(value, limit=None)
    except exact.NotExact as error:
        raise _failed(expression, f"it gives a {type(value).__name__} that isn't plain JSON") from error
    return value


def _text(expression: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    kind = "nothing (null)" if value is None else "a list" if isinstance(value, list) else "an object"
    raise _failed(expression, f"it gives {kind} where a text is wanted")


def _join(items: list[Any], separator: str = ", ") -> str:
    return separator.join(_text("join", item) for item in items)


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _explained(expression: str, error: BaseException) -> CelError:
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error  # KeyboardInterrupt and SystemExit are not the expression's fault
    first = str(error).split("\n", 1)[0].strip()
    match error:
        case KeyError():
            return _failed(expression, f"there is no {first}")
        case IndexError():
            return _failed(expression, f"a list has no such item ({first})")
        case ZeroDivisionError():
            return _failed(expression, "it divides by zero")
        case OverflowError():
            return _failed(expression, "a number becomes too large")
        case TypeError():
            return _failed(expression, "the types don't fit; whole numbers, decimals and texts are not mixed")
        case RuntimeError() if first.startswith("Undefined variable or function: "):
            return _failed(expression, f"{first.split(': ', 1)[1].split('.')[0]} is not known here")
        case ValueError() if "ERROR: <input>:" in first:
            place, _, problem = first.split("ERROR: <input>:", 1)[1].partition(": ")
            column = place.split(":")[-1]
            return _failed(expression, f"{problem.split(' expecting ')[0].strip()} (at character {column})")
        case _:
            return _failed(expression, first.split(". ")[0].rstrip(".") or type(error).__name__)


def _failed(expression: str, problem: str) -> CelError:
    shown = " ".join(expression.split())
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return CelError(f"The expression {shown!r} can't be used: {problem}.")
