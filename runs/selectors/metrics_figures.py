"""The figures on questions and answers: how long they wait, how they end, and what becomes of what was approved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from django.utils import timezone

from runs import lifecycle
from runs.selectors import filters, intervals, metrics_parts, metrics_words, plots, tools
from runs.selectors.metrics_data import Data, Question, Weighed
from runs.selectors.metrics_models import Figure

SPEED = 25
"""Characters that somebody reads in a second at most: 300 words in a minute."""
SIZES = ((0, 250), (250, 1_000), (1_000, 4_000), (4_000, None))
_BY_PERSON = frozenset({lifecycle.Review.APPROVED, lifecycle.Review.REJECTED, lifecycle.Review.ANSWERED})
_ENDS = (("approved", "Approved as asked"), ("edited", "Changed, then approved"), ("rejected", "Rejected"),
         ("expired", "Nobody answered"), ("other", "Answered otherwise"))  # fmt: skip
_END_LOOKS = ("plot-good", "plot-busy", "plot-bad", "plot-quiet", "plot-doubt")


def waiting(data: Data) -> Figure:
    """How long questions waited until a person answered, half of them and 19 of 20."""
    name, title = "waiting", "How long questions waited"
    took = [
        (row.closed_at, (row.closed_at - row.opened_at).total_seconds())
        for row in data.questions
        if row.closed_at is not None and row.status in _BY_PERSON
    ]
    if not took:
        return metrics_parts.nothing(name, title)
    half, most = (intervals.quantile([seconds for _, seconds in took], p) for p in (0.5, 0.95))
    by_day = metrics_parts.split(data.span, took)
    middles = [intervals.quantile(values, 0.5) for _, values in by_day]
    size, unit = metrics_parts.unit(max((found.value or 0 for found in middles), default=0))
    rows = []
    for (day, values), middle in zip(by_day, middles, strict=True):
        late = intervals.quantile(values, 0.95)
        rows.append((day, str(len(values)), *metrics_words.duration(middle), *metrics_words.duration(late)))
    said, between = metrics_words.duration(half)
    long, until = metrics_words.duration(most)
    return Figure(
        name=name,
        title=title,
        sentence=f"Of {metrics_words.of(len(took), 'question')} half were answered within {said} ({between}), and 19"
        f" of 20 within {long} ({until}).",
        columns=("Answered", "n", "Half within", "95 % interval", "19 of 20 within", "95 % interval "),
        rows=tuple(row for row in rows if row[1] != "0"),
        plot=plots.columns(
            [
                plots.Bar(
                    name=day,
                    parts=((middle.value or 0) / size,),
                    low=None if middle.low is None or middle.high is None else middle.low / size,
                    high=None if middle.low is None or middle.high is None else middle.high / size,
                )
                for (day, _), middle in zip(by_day, middles, strict=True)
            ],
            looks=("plot-busy",),
            unit=f" {unit}",
        ),
        note="The bars are the time within which half were answered; a thin line is the 95 % interval, where there are"
        " enough answers for one.",
    )


def late(data: Data) -> Figure:
    """Which questions were answered after they were due, or wait on past it."""
    name, title = "late", "Answered late"
    by_kind: dict[str, list[bool]] = {}
    for row in data.questions:
        ended = row.closed_at or data.span.now
        if row.status in _BY_PERSON or row.status == lifecycle.Review.EXPIRED or ended > row.due_at:
            by_kind.setdefault(row.kind, []).append(ended > row.due_at)
    every = [one for found in by_kind.values() for one in found]
    if not every:
        return metrics_parts.nothing(name, title)
    whole = intervals.share(sum(every), len(every))
    named = {filters.KINDS.get(kind, kind): Counter(found) for kind, found in by_kind.items()}
    return metrics_parts.shares(
        name,
        title,
        f"{sum(every):,} of {metrics_words.of(len(every), 'question')} came late: {metrics_parts.both(whole)}.",
        "Question",
        {label: (count[True], count.total()) for label, count in named.items()},
        look="plot-bad",
        note="Late is what was answered, or is still open, after its due time.",
    )


def hours(data: Data) -> Figure:
    """In which hours of the day people decide, and how many decisions an hour takes."""
    name, title = "hours", "Decisions in each hour of the day"
    if not data.answers:
        return metrics_parts.nothing(name, title)
    count = Counter(timezone.localtime(row.at).hour for row in data.answers)
    rates = [intervals.rate(count[hour], data.span.days) for hour in range(24)]
    whole = metrics_words.rate(intervals.rate(len(data.answers), data.span.days))
    busiest = max(range(24), key=lambda hour: count[hour])
    return Figure(
        name=name,
        title=title,
        sentence=f"{metrics_words.of(len(data.answers), 'decision')}, {whole[0]} a day ({whole[1]}); most between"
        f" {busiest}:00 and {busiest + 1}:00.",
        columns=("Hour", "n", "Decisions a day in this hour", "95 % interval"),
        rows=tuple(
            (f"{hour}:00", str(count[hour]), *metrics_words.rate(rates[hour]))
            for hour in range(24)
            if count[hour]
        ),
        plot=plots.columns(
            [
                plots.Bar(
                    name=f"{hour}:00",
                    parts=(found.value or 0,),
                    low=found.low if found.n else None,
                    high=found.high if found.n else None,
                )
                for hour, found in enumerate(rates)
            ],
            looks=("plot-busy",),
            unit="",
        ),
    )


def ends(data: Data) -> Figure:
    """How questions about effects ended, by tool."""
    name, title = "ends", "How questions ended, by tool"
    by_tool: dict[str, Counter[str]] = {}
    for row in data.questions:
        end = ended_as(row)
        if end:
            by_tool.setdefault(row.tool, Counter())[end] += 1
    if not by_tool:
        return metrics_parts.nothing(name, title)
    largest = sorted(by_tool.items(), key=lambda item: (-item[1].total(), item[0]))
    every = Counter[str]()
    for count in by_tool.values():
        every.update(count)
    asked = intervals.share(every["approved"], every.total())
    columns = ["Tool", "n"]
    for _, words in _ENDS:
        columns += [words, f"95 % interval, {words.lower()}"]
    return Figure(
        name=name,
        title=title,
        sentence=f"{every['approved']:,} of {metrics_words.of(every.total(), 'question')} were approved as they were"
        f" asked: {metrics_parts.both(asked)}.",
        columns=tuple(columns),
        rows=tuple(
            (
                tools.title(tool),
                str(count.total()),
                *(
                    part
                    for end, _ in _ENDS
                    for part in metrics_words.share(intervals.share(count[end], count.total()))
                ),
            )
            for tool, count in largest[: metrics_parts.LISTED]
        ),
        plot=plots.rows(
            [
                plots.Bar(
                    name=tools.title(tool),
                    parts=tuple(count[end] / count.total() for end, _ in _ENDS),
                    said=f"n {count.total():,}",
                )
                for tool, count in largest[: metrics_parts.BARS]
            ],
            looks=_END_LOOKS,
            most=1,
            legend=[words for _, words in _ENDS],
        ),
    )


def ended_as(row: Question) -> str:
    """Return how a question about an effect ended; nothing while it is open and where nobody was to answer any more."""
    if row.kind != lifecycle.ReviewKind.ACTION:
        return ""
    if row.status == lifecycle.Review.APPROVED:
        return "edited" if row.revision > 1 else "approved"
    return {
        lifecycle.Review.REJECTED: "rejected",
        lifecycle.Review.EXPIRED: "expired",
        lifecycle.Review.ANSWERED: "other",
    }.get(lifecycle.Review(row.status), "")


def reading(data: Data) -> Figure:
    """The time before a decision against what there was to read."""
    name, title = "reading", "Time before a decision, and what there was to read"
    note = (
        "Nobody records how long somebody looks. The time is that since the person's decision before, within an hour,"
        " which is at least as long as what this one took by itself. Reading is taken to be 25 characters a second. So"
        " what is below the line was decided faster than it can be read, unless it was read earlier."
    )
    if not data.weighed:
        return metrics_parts.nothing(name, title, note)
    quick = [row for row in data.weighed if too_quick(row)]
    whole = intervals.share(len(quick), len(data.weighed))
    rows = []
    for low, high in SIZES:
        inside = [
            row for row in data.weighed if low <= row.characters and (high is None or row.characters < high)
        ]
        if not inside:
            continue
        middle = metrics_words.duration(intervals.quantile([row.seconds for row in inside], 0.5))
        part = metrics_words.share(intervals.share(sum(map(too_quick, inside)), len(inside)))
        size = f"{low:,} and more" if high is None else f"{low:,} to {high - 1:,}"
        rows.append((size, str(len(inside)), *middle, *part))
    return Figure(
        name=name,
        title=title,
        sentence=f"{len(quick):,} of {metrics_words.of(len(data.weighed), 'decision')} came faster than the arguments"
        f" can be read: {metrics_parts.both(whole)}.",
        columns=("Characters", "n", "Half within", "95 % interval", "Faster than readable", "95 % interval "),
        rows=tuple(rows),
        plot=plots.scatter(
            [
                (row.characters, row.seconds, "plot-bad" if too_quick(row) else "plot-busy")
                for row in data.weighed
            ],
            line=SPEED,
            across=" chars",
            up=" s",
        ),
        note=note,
    )


def too_quick(row: Weighed) -> bool:
    """Return whether nobody reads so fast."""
    return row.seconds < row.characters / SPEED


FIGURES: tuple[Callable[[Data], Figure], ...] = (waiting, late, hours, ends, reading)
