"""What the metrics page shows: figures, each with its plot, a sentence, and a table."""

from __future__ import annotations

from dataclasses import dataclass

from runs.selectors import page_models, plots


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One plot with its title, what it says in one sentence, and the numbers behind it."""

    name: str
    title: str
    sentence: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    plot: plots.Plot | None = None
    note: str = ""  # how it is counted


@dataclass(frozen=True, kw_only=True)
class Page:
    figures: tuple[Figure, ...]
    spans: tuple[page_models.Choice, ...]
    since: str
    until: str
    query: str
    words: str  # the span in words
    cut: int  # so many of each kind are counted at most; 0 where all are
