"""Paging by key: the work for a page doesn't grow with how far down it is."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.db.models import F, Model, Q, QuerySet

from runs.selectors import page_models

Row = TypeVar("Row", bound=Model)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
LOOKED = 4_000
MICRO = datetime.timedelta(microseconds=1)


def page(
    rows: QuerySet[Row],
    *,
    by: tuple[str, ...],
    params: Mapping[str, str],
    size: int,
    descending: bool = True,
    keep: Mapping[str, str] | None = None,
    total: int | None = None,
    searched: bool = False,
) -> tuple[list[Row], page_models.Page]:
    """Return one page of `rows` in the order of the fields `by`, and the links to its neighbours.

    `params` may hold `before` (the page of older rows) or `after` (of newer ones); what can't be read is ignored.
    `keep` are the other parameters of the links. With `searched`, rows by their id were found by words: see `nearest`.
    """
    older, newer = _cursor(params.get("before", ""), by), _cursor(params.get("after", ""), by)
    backwards = newer is not None and older is None
    if older is not None:
        rows = rows.filter(_beyond(by, older, descending=descending))
    elif newer is not None:
        rows = rows.filter(_beyond(by, newer, descending=not descending))
    sign = "-" if descending != backwards else ""
    if searched:
        found = nearest(
            rows, size + 1, start=(older or newer or (None,))[0], descending=descending != backwards
        )
    else:
        found = list(rows.order_by(*(f"{sign}{name}" for name in by))[: size + 1])
    more = len(found) > size
    found = found[:size]
    if backwards:
        found.reverse()
    has_older = more if not backwards else newer is not None
    has_newer = more if backwards else older is not None
    kept = dict(keep or {})
    link: Callable[[str, Row], str] = lambda name, row: urlencode({**kept, name: _text(row, by)})  # noqa: E731
    return found, page_models.Page(
        older=link("before", found[-1]) if found and has_older else "",
        newer=link("after", found[0]) if found and has_newer else "",
        shown=len(found),
        total=total,
    )


def nearest(
    rows: QuerySet[Row], count: int, *, start: int | None = None, descending: bool = True
) -> list[Row]:
    """Return the first rows that were found by words, in the order of their ids and beyond `start`.

    Words are in very many rows or in none, and the server can't know beforehand. So the next `LOOKED` rows are looked
    at first: where these hold enough, words are frequent. Else they are rare, and all that have them are put in order;
    by a sum, lest the server looks for them along all ids after all.
    """
    sign, beyond, upto = ("-", "pk__lt", "pk__gte") if descending else ("", "pk__gt", "pk__lte")
    every = rows.model._default_manager.all()
    if start is not None:
        every, rows = every.filter(**{beyond: start}), rows.filter(**{beyond: start})
    last = every.order_by(f"{sign}pk").values_list("pk", flat=True)[LOOKED : LOOKED + 1]
    end = next(iter(last), None)
    if end is None:
        return list(rows.order_by(f"{sign}pk")[:count])
    near = list(rows.filter(**{upto: end}).order_by(f"{sign}pk")[:count])
    if len(near) == count:
        return near
    rare = rows.annotate(place=F("pk") + 0).order_by(f"{sign}place").values_list("pk", flat=True)[:count]
    return list(rows.filter(pk__in=list(rare)).order_by(f"{sign}pk"))


def _text(row: Model, by: tuple[str, ...]) -> str:
    parts = []
    for name in by:
        value = getattr(row, name)
        parts.append(str((value - EPOCH) // MICRO if isinstance(value, datetime.datetime) else value))
    return "-".join(parts)


def _cursor(text: str, by: tuple[str, ...]) -> tuple[Any, ...] | None:
    parts = text.split("-")
    if len(parts) != len(by) or not all(
        part.isascii() and part.isdigit() and len(part) < 19 for part in parts
    ):
        return None
    try:
        return tuple(
            EPOCH + int(part) * MICRO if name.endswith("_at") else int(part)
            for name, part in zip(by, parts, strict=True)
        )
    except OverflowError:
        return None


def _beyond(by: tuple[str, ...], cursor: tuple[Any, ...], *, descending: bool) -> Q:
    """Return the condition of lying past the cursor, in the order of all fields together."""
    word = "lt" if descending else "gt"
    found = Q()
    for index, name in enumerate(by):
        same = Q(**{by[i]: cursor[i] for i in range(index)})
        found |= same & Q(**{f"{name}__{word}": cursor[index]})
    return found
