"""The page on which an operator sees what fills the database, and when it will be full."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import DatabaseError
from django.template.defaultfilters import filesizeformat

from runs.selectors import plots, storage

AHEAD = 90
"""Days that are looked ahead."""
SHOWN = 20
"""So many agents are listed, the largest first."""
FEWEST, YOUNGEST = 1_000, 1.0
"""Fewer lines, or a site that has been there for fewer days, say nothing about the time to come."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One kind, or one agent, in words."""

    name: str
    size: str
    share: str
    indexes: str = ""
    apart: str = ""
    rows: str = ""
    note: str = ""
    agent: str = ""


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """What the pace of some days comes to."""

    span: str
    runs: str
    lines: str
    bytes: str
    then: str


@dataclass(frozen=True, kw_only=True)
class Growth:
    """How fast it grows; `why_not` says why nothing is foretold, where it isn't."""

    sentence: str
    paces: tuple[Ahead, ...]
    plot: plots.Plot
    days: tuple[tuple[str, str, str, str], ...]
    why_not: str = ""


@dataclass(frozen=True, kw_only=True)
class StoragePage:
    """Everything on the page."""

    found: storage.Storage
    size: str
    kinds: tuple[Row, ...]
    agents: tuple[Row, ...]
    counted: str  # how what each agent takes up was found
    growth: Growth


def page() -> StoragePage | None:
    """Return what the database holds, or None when it doesn't answer."""
    try:
        found = storage.look()
    except DatabaseError:
        return None
    return StoragePage(
        found=found,
        size=size(found.bytes),
        kinds=tuple(_kind(kind, found) for kind in found.kinds),
        agents=tuple(_agents(found)),
        counted=_counted(found),
        growth=_growth(found),
    )


def size(number: float) -> str:
    """Return a number of bytes in the unit that fits it."""
    return filesizeformat(number).replace("\xa0", " ")


def _kind(kind: storage.Kind, found: storage.Storage) -> Row:
    note = ""
    if kind.key == "log" and found.contents:
        note = (
            f"About {size(found.contents)} of it is what the lines say: inputs, replies, arguments, results."
        )
    if kind.key == "other":
        note = "People, agents, policies, sessions, and the server's own tables."
    return Row(
        name=kind.name,
        size=size(kind.bytes),
        share=_percent(kind.bytes, found.bytes),
        indexes=size(kind.indexes) if kind.rows is not None else "",
        apart=size(kind.apart) if kind.rows is not None else "",
        rows=f"{kind.rows:,}" if kind.rows else "",  # none where the server hasn't counted yet
        note=note,
    )


def _agents(found: storage.Storage) -> list[Row]:
    every = sum(share.bytes for share in found.agents)
    rows = [
        Row(
            name=share.title,
            agent=share.agent,
            size=size(share.bytes),
            share=_percent(share.bytes, every),
            rows=f"{share.lines:,}",
        )
        for share in found.agents[:SHOWN]
    ]
    if rest := found.agents[SHOWN:]:
        left, lines = sum(share.bytes for share in rest), sum(share.lines for share in rest)
        name = f"{len(rest):,} other{'s' if len(rest) > 1 else ''}"
        rows.append(Row(name=name, size=size(left), share=_percent(left, every), rows=f"{lines:,}"))
    return rows


def _counted(found: storage.Storage) -> str:
    what = "log, effects, questions and search index, divided by what each agent's runs have in the log"
    if found.every:
        return f"Estimated: {what}. All {found.sampled:,} lines of it were counted."
    return (
        f"Estimated: {what}. Of its {found.lines:,} lines a sample of {found.sampled:,} was counted,"
        " so small shares are rough, and the rarest agents may be missing."
    )


def _growth(found: storage.Storage) -> Growth:
    week, month = found.paces
    paces = (week,) if month.days - week.days < 1 else (week, month)
    why_not = _why_not(found)
    ahead = () if why_not else tuple(_ahead(found, pace) for pace in paces)
    return Growth(
        sentence=f"At the pace of {ahead[0].span.lower()} the database holds about {ahead[0].then} in {AHEAD} days."
        if ahead
        else "",
        paces=ahead,
        plot=_plot(found),
        days=tuple(
            (
                day.day.isoformat(),
                f"{day.runs:,}",
                f"{day.lines:,}",
                size(day.lines * found.a_line) if found.lines >= FEWEST else "",
            )
            for day in reversed(found.days)
        ),
        why_not=why_not,
    )


def _why_not(found: storage.Storage) -> str:
    if found.paces[0].days < YOUNGEST:
        return "The first run began less than a day ago, too lately to say how it goes on."
    if found.lines < FEWEST:
        return f"There are fewer than {FEWEST:,} lines, too few to say how it goes on."
    return ""


def _ahead(found: storage.Storage, pace: storage.Pace) -> Ahead:
    a_day = pace.lines * found.a_line
    days = round(pace.days)
    return Ahead(
        span="The last day" if days == 1 else f"The last {days} days",
        runs=f"{pace.runs:,.0f}" if pace.runs >= 10 else f"{pace.runs:,.1f}",
        lines=f"{pace.lines:,.0f}",
        bytes=size(a_day),
        then=size(found.bytes + AHEAD * a_day),
    )


def _plot(found: storage.Storage) -> plots.Plot:
    most = max((day.lines for day in found.days), default=0)
    thousands = most >= 10_000
    bars = [
        plots.Bar(name=f"{day.day:%-d %b}", parts=(day.lines / (1_000 if thousands else 1),))
        for day in found.days
    ]
    return plots.columns(bars, looks=("plot-busy",), unit="k" if thousands else "")


def _percent(part: float, whole: float) -> str:
    share = 100 * part / whole if whole else 0.0
    return f"{share:.0f} %" if share >= 10 or not share else f"{share:.1f} %" if share >= 0.1 else "< 0.1 %"
