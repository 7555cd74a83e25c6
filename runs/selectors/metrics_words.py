"""Estimates in words. Pure."""

from __future__ import annotations

from collections.abc import Callable

from runs.selectors import intervals

NONE = "none"


def percent(value: float | None) -> str:
    """Return a share in percent; “none” where it isn't known."""
    return (
        NONE if value is None else f"{value * 100:.1f} %" if value < 0.1 and value else f"{value * 100:.0f} %"
    )


def share(found: intervals.Estimate) -> tuple[str, str]:
    """Return a share and its 95 % interval."""
    if found.value is None:
        return NONE, NONE
    return percent(found.value), f"{percent(found.low)} to {percent(found.high)}"


def span(seconds: float | None) -> str:
    """Return a duration in its largest fitting unit."""
    if seconds is None:
        return NONE
    for size, unit in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def between(found: intervals.Estimate, words: Callable[[float], str]) -> str:
    """Return the two ends of an interval in words, as far as so few observations say them."""
    low, high = found.low, found.high
    if low is not None and high is not None:
        return f"{words(low)} to {words(high)}"
    if low is not None:
        return f"{words(low)} or more"
    return f"up to {words(high)}" if high is not None else "too few for an interval"


def duration(found: intervals.Estimate) -> tuple[str, str]:
    """Return a duration and its 95 % interval, as far as so few observations say one."""
    if found.value is None:
        return NONE, NONE
    return span(found.value), between(found, span)


def rate(found: intervals.Estimate) -> tuple[str, str]:
    """Return a rate and its 95 % interval."""
    if found.value is None:
        return NONE, NONE
    return f"{found.value:.2f}", f"{found.low:.2f} to {found.high:.2f}"


def of(count: int, what: str) -> str:
    """Return a number of things: "1 answer", "2 answers"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
