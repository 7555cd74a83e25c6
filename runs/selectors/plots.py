"""Small plots as geometry that a template draws as SVG: no script, no style of its own, readable at 300 pixels. Pure.

A plot is 360 units wide; texts are 12 units high. What stands in it is also in the table below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 360
LINE = 26
LABELS = 126
"""The part at the left that the names of rows take."""
HEIGHT, BASE, TOP = 170, 140, 12
LONGEST = 17


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One shape: a bar, a line, a dot or a text; `look` is its class."""

    shape: str
    look: str
    x: float
    y: float
    x2: float = 0
    y2: float = 0
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Shapes, drawn in this order, and what the looks mean."""

    height: int
    marks: tuple[Mark, ...]
    legend: tuple[tuple[str, str], ...] = ()  # look and words


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One row or column: a name, its parts from the first on, and between what it lies."""

    name: str
    parts: tuple[float, ...]
    low: float | None = None
    high: float | None = None
    said: str = ""


def rows(bars: Sequence[Bar], *, looks: Sequence[str], most: float, legend: Sequence[str] = ()) -> Plot:
    """Return bars that lie under one another, each with its parts side by side; `most` is the whole width."""
    width = WIDTH - LABELS - 48
    marks = []
    for index, bar in enumerate(bars):
        y = index * LINE + 4
        marks.append(Mark(shape="text", look="plot-name", x=0, y=y + 13, text=_cut(bar.name)))
        x = float(LABELS)
        for look, part in zip(looks, bar.parts, strict=True):
            reach = width * part / most if most else 0
            if reach > 0:
                marks.append(Mark(shape="bar", look=look, x=x, y=y, x2=reach, y2=18))
            x += reach
        if bar.low is not None and bar.high is not None and most:
            low, high = (LABELS + width * side / most for side in (bar.low, bar.high))
            marks.append(Mark(shape="line", look="plot-range", x=low, y=y + 9, x2=high, y2=y + 9))
        end = max(x, LABELS + width * bar.high / most if bar.high is not None and most else x)
        marks.append(Mark(shape="text", look="plot-said", x=end + 5, y=y + 13, text=bar.said))
    return Plot(height=max(1, len(bars)) * LINE + 4, marks=tuple(marks), legend=_legend(looks, legend))


def columns(bars: Sequence[Bar], *, looks: Sequence[str], unit: str, legend: Sequence[str] = ()) -> Plot:
    """Return bars that stand side by side over time, their parts on one another, with a scale at the left."""
    most = nice(max((max(sum(bar.parts), bar.high or 0) for bar in bars), default=0))
    left, step = 34.0, (WIDTH - 40) / max(1, len(bars))
    marks = list(_scale(most, unit=unit))
    for index, bar in enumerate(bars):
        x, y = left + index * step, float(BASE)
        for look, part in zip(looks, bar.parts, strict=True):
            tall = (BASE - TOP) * part / most if most else 0
            if tall > 0:
                marks.append(
                    Mark(shape="bar", look=look, x=x + step * 0.12, y=y - tall, x2=step * 0.76, y2=tall)
                )
            y -= tall
        if bar.low is not None and bar.high is not None and most:
            low, high = (BASE - (BASE - TOP) * side / most for side in (bar.low, bar.high))
            marks.append(
                Mark(shape="line", look="plot-range", x=x + step / 2, y=low, x2=x + step / 2, y2=high)
            )
        if index in {0, len(bars) // 2, len(bars) - 1}:
            look = "plot-tick plot-last" if index == len(bars) - 1 and index else "plot-tick"
            at = x + step if "plot-last" in look else x
            marks.append(Mark(shape="text", look=look, x=at, y=BASE + 16, text=bar.name))
    return Plot(height=HEIGHT, marks=tuple(marks), legend=_legend(looks, legend))


def scatter(points: Sequence[tuple[float, float, str]], *, line: float, across: str, up: str) -> Plot:
    """Return dots on logarithmic scales, each with its look, and the line on which y = x / `line`."""
    xs, ys = [x for x, _, _ in points], [max(y, 0.1) for _, y, _ in points]
    x0, x1 = _decades([*xs, 10, 1000])
    y0, y1 = _decades([*ys, 1, 100])

    def at(x: float, y: float) -> tuple[float, float]:
        part = (math.log10(max(x, 1)) - x0) / (x1 - x0)
        tall = (math.log10(max(y, 0.1)) - y0) / (y1 - y0)
        return 56 + part * (WIDTH - 66), BASE - min(1, max(0, tall)) * (BASE - TOP)

    marks = []
    for power in range(y0, y1 + 1):
        _, y = at(1, 10**power)
        marks.append(Mark(shape="line", look="plot-grid", x=56, y=y, x2=WIDTH - 10, y2=y))
        marks.append(Mark(shape="text", look="plot-tick plot-last", x=52, y=y + 4, text=_power(power, up)))
    for power in range(x0, x1 + 1):
        x, _ = at(10**power, 1)
        look = "plot-tick plot-last" if power == x1 else "plot-tick"
        marks.append(Mark(shape="text", look=look, x=x, y=BASE + 16, text=_power(power, across)))
    first, last = at(10**x0, 10**x0 / line), at(10**x1, 10**x1 / line)
    marks.append(Mark(shape="line", look="plot-limit", x=first[0], y=first[1], x2=last[0], y2=last[1]))
    for x, y, look in points:
        cx, cy = at(x, y)
        marks.append(Mark(shape="dot", look=look, x=cx, y=cy))
    return Plot(height=HEIGHT, marks=tuple(marks))


def nice(value: float) -> float:
    """Return the next round number that a scale may end at."""
    if value <= 0:
        return 1
    power = 10 ** math.floor(math.log10(value))
    return float(next(step * power for step in (1, 2, 3, 4, 5, 6, 8, 10) if step * power >= value - 1e-9))


def number(value: float) -> str:
    """Return a short number."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def _scale(most: float, *, unit: str) -> tuple[Mark, ...]:
    found = []
    for part in (0.0, 0.5, 1.0):
        y = BASE - (BASE - TOP) * part
        found.append(Mark(shape="line", look="plot-grid", x=34, y=y, x2=WIDTH - 6, y2=y))
        text = number(most * part) + (unit if part == 1 else "")
        found.append(Mark(shape="text", look="plot-tick plot-last", x=30, y=y + 4, text=text))
    return tuple(found)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _power(power: int, unit: str) -> str:
    return f"{number(10**power)}{unit}" if power >= 0 else f"{10.0**power:g}{unit}"


def _legend(looks: Sequence[str], words: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple(zip(looks, words, strict=True)) if words else ()


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
