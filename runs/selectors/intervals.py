"""The few statistics of the metrics page, each with a 95 % interval. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z = 1.959963984540054
"""The normal distribution's 97.5 % quantile."""
TAIL = 0.025


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure, how many observations it comes from, and between what it lies; None is "not known"."""

    n: int
    value: float | None
    low: float | None = None
    high: float | None = None


def share(hits: int, n: int) -> Estimate:
    """Return a share with its Wilson score interval, which also holds for few observations and near 0 and 1."""
    if n == 0:
        return Estimate(n=0, value=None)
    p = hits / n
    middle = p + Z * Z / (2 * n)
    half = Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    scale = 1 + Z * Z / n
    low = 0.0 if hits == 0 else (middle - half) / scale
    high = 1.0 if hits == n else (middle + half) / scale
    return Estimate(n=n, value=p, low=low, high=high)


def quantile(values: Sequence[float], p: float) -> Estimate:
    """Return the nearest-rank quantile, with the interval between order statistics that no distribution is assumed for.

    Where so few observations say nothing about an end of the interval, that end is None.
    """
    n = len(values)
    if n == 0:
        return Estimate(n=0, value=None)
    ordered = sorted(values)
    low, high = _ranks(n, p)
    return Estimate(
        n=n,
        value=ordered[max(1, math.ceil(p * n)) - 1],
        low=ordered[low - 1] if low >= 1 else None,
        high=ordered[high - 1] if high <= n else None,
    )


def _ranks(n: int, p: float) -> tuple[int, int]:
    """Return the ranks between which the quantile lies: below the first, and above the last, by at most 2.5 % each."""
    low, high, below = 0, n + 1, 0.0
    for k in range(n + 1):  # k observations lie below the quantile
        if below <= TAIL:
            low = k
        below += _binomial(n, k, p)
        if 1 - below <= TAIL:
            high = k + 1
            break
    return low, high


def _binomial(n: int, k: int, p: float) -> float:
    logs = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(logs + k * math.log(p) + (n - k) * math.log1p(-p))


def rate(count: int, per: float) -> Estimate:
    """Return a rate of events in `per` units of time, with Byar's approximation of the exact Poisson interval."""
    if per <= 0:
        return Estimate(n=count, value=None)
    low = 0.0 if count == 0 else count * (1 - 1 / (9 * count) - Z / (3 * math.sqrt(count))) ** 3
    more = count + 1
    high = more * (1 - 1 / (9 * more) + Z / (3 * math.sqrt(more))) ** 3
    return Estimate(n=count, value=count / per, low=low / per, high=high / per)
