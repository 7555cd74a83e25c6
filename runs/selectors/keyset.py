"""Paging by key: the work for a page doesn't grow with how far down it is."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.db.models import Model, Q, QuerySet

from runs.selectors import page_models

Row = TypeVar("Row", bound=Model)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
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
) -> tuple[list[Row], page_models.Page]:
    """Return one page of `rows` in the order of the fields `by`, and the links to its neighbours.

    `params` may hold `before` (the page of older rows) or `after` (of newer ones); what can't be read is ignored.
    `keep` are the other parameters of the links.
    """
    older, newer = _cursor(params.get("before", ""), by), _cursor(params.get("after", ""), by)
    backwards = newer is not None and older is None
    if older is not None:
        rows = rows.filter(_beyond(by, older, descending=descending))
    elif newer is not None:
        rows = rows.filter(_beyond(by, newer, descending=not descending))
    sign = "-" if descending != backwards else ""
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
