"""The metrics page: oversight itself, in figures that each say how many observations they come from."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Mapping
from urllib.parse import urlencode

from django.utils import timezone
from django.utils.dateparse import parse_date

from runs import models, rights
from runs.selectors import (
    deciding,
    exports,
    metrics_after,
    metrics_data,
    metrics_figures,
    metrics_models,
    now,
    page_models,
)

SPANS = (7, 30, 90)
DEFAULT, LONGEST = 30, 366


def page(params: Mapping[str, str], viewer: deciding.Viewer) -> metrics_models.Page:
    """Return all figures of the span that the address names."""
    span, chosen = _span(params)
    data = metrics_data.read(span)
    last = span.until - datetime.timedelta(days=1)
    query = {"days": str(chosen)} if chosen else {"since": f"{_day(span.since)}", "until": f"{_day(last)}"}
    return metrics_models.Page(
        figures=(
            *(make(data) for make in metrics_figures.FIGURES),
            *(make(data) for make in metrics_after.FIGURES),
            metrics_after.people(data, only=None if viewer.may(rights.Act.PEOPLE) else viewer.user.pk),
        ),
        spans=tuple(
            page_models.Choice(label=f"{days} days", query=f"days={days}", current=days == chosen)
            for days in SPANS
        ),
        since=_day(span.since),
        until=_day(last),
        query=urlencode(query),
        words=f"{_day(span.since)} to {_day(last)}",
        cut=metrics_data.MOST if data.cut else 0,
    )


def as_csv(figure: metrics_models.Figure) -> str:
    """Return the table of a figure, safe in a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerows([exports.safe(cell) for cell in row] for row in (figure.columns, *figure.rows))
    return f"\ufeff{out.getvalue()}"


def _span(params: Mapping[str, str]) -> tuple[metrics_data.Span, int]:
    """Return the span, and the number of days where one of the usual ones is chosen."""
    moment = models.Installation.objects.annotate(now=now.ClockNow()).values_list("now", flat=True).get(pk=1)
    today = timezone.localtime(moment).date()
    since, until = (_date(params.get(name, "")) for name in ("since", "until"))
    chosen = 0
    if since is None:
        days = params.get("days", "")
        chosen = int(days) if days in map(str, SPANS) else DEFAULT
        since, until = today - datetime.timedelta(days=chosen - 1), today
    until = min(max(until or today, since), since + datetime.timedelta(days=LONGEST - 1))
    return metrics_data.Span(
        since=_start(since), until=_start(until + datetime.timedelta(days=1)), now=moment
    ), chosen


def _date(text: str) -> datetime.date | None:
    try:
        day = parse_date(text.replace("\x00", ""))
    except ValueError:
        return None
    return day if day is not None and 1970 <= day.year < 9000 else None


def _start(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time.min, tzinfo=timezone.get_current_timezone())


def _day(moment: datetime.datetime) -> str:
    return timezone.localtime(moment).date().isoformat()
