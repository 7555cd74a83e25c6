"""What the figures of the metrics page have in common: days, and shares with their intervals. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping

from django.utils import timezone

from runs.selectors import intervals, metrics_words, plots
from runs.selectors.metrics_data import Span
from runs.selectors.metrics_models import Figure

BARS, LISTED = 12, 50
"""So many rows a plot has, and its table, the largest first."""


def buckets(span: Span) -> list[tuple[datetime.datetime, str]]:
    """Return the first moments of the span's days, or weeks where there are more than a month of them, with names."""
    step = 1 if span.days <= 31 else 7
    starts = [span.since + datetime.timedelta(days=day) for day in range(0, span.days, step)]
    return [(start, f"{timezone.localtime(start):%-d %b}") for start in starts]


def split(span: Span, at: Iterable[tuple[datetime.datetime, float]]) -> list[tuple[str, list[float]]]:
    """Return the values by the bucket that their moment falls into."""
    named = buckets(span)
    size = (named[1][0] - named[0][0]) if len(named) > 1 else datetime.timedelta(days=1)
    found: list[tuple[str, list[float]]] = [(name, []) for _, name in named]
    for moment, value in at:
        place = int((moment - span.since) / size)
        if 0 <= place < len(found):
            found[place][1].append(value)
    return found


def nothing(name: str, title: str, note: str = "") -> Figure:
    """Return the figure where there is nothing to count."""
    return Figure(
        name=name, title=title, sentence="Nothing of it in these days.", columns=(), rows=(), note=note
    )


def shares(
    name: str,
    title: str,
    sentence: str,
    what: str,
    counts: Mapping[str, tuple[int, int]],
    *,
    look: str,
    note: str = "",
) -> Figure:
    """Return a figure of shares, (hits, n) by name, each with its interval, the largest n first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1][1], item[0]))
    found = [(label, hits, intervals.share(hits, n)) for label, (hits, n) in ordered[:LISTED]]
    return Figure(
        name=name,
        title=title,
        sentence=sentence,
        columns=(what, "Of", "n", "Share", "95 % interval"),
        rows=tuple(
            (label, str(hits), str(part.n), *metrics_words.share(part)) for label, hits, part in found
        ),
        plot=plots.rows(
            [
                plots.Bar(
                    name=label,
                    parts=(part.value or 0,),
                    low=part.low,
                    high=part.high,
                    said=metrics_words.percent(part.value),
                )
                for label, _, part in found[:BARS]
            ],
            looks=(look,),
            most=1,
        ),
        note=note,
    )


def both(found: intervals.Estimate) -> str:
    said, between = metrics_words.share(found)
    return f"{said} ({between})"


def unit(seconds: float) -> tuple[float, str]:
    for size, name in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return size, name
    return 1.0, "s"
