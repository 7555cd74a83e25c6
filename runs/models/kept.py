"""What a process keeps of rows that never change, by their numbers; in another database these mean other rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")
_clear: list[Callable[[], None]] = []


def by_number(maxsize: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep what a function has returned, until it is forgotten."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        keeping = lru_cache(maxsize)(function)
        _clear.append(keeping.cache_clear)
        return cast(Callable[P, T], keeping)

    return decorate


def forget() -> None:
    """Forget everything: the database is another one than before, or was rolled back."""
    for clear in _clear:
        clear()
