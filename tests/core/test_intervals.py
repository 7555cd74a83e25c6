"""The statistics of the metrics page against values that others have published."""

from __future__ import annotations

import pytest

from runs.selectors import intervals


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [  # Newcombe 1998, table I, method 3: Wilson's score interval without continuity correction
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 0.8389, 1.0),
    ],
)
def test_the_interval_of_a_share(hits: int, n: int, low: float, high: float) -> None:
    found = intervals.share(hits, n)
    assert found.value == hits / n
    assert found.low == pytest.approx(low, abs=5e-5)
    assert found.high == pytest.approx(high, abs=5e-5)


@pytest.mark.parametrize(
    ("n", "p", "low", "high"),
    [  # ranks for a median: Conover, and Campbell and Gardner 1988; below six nothing is said
        (5, 0.5, None, None),
        (6, 0.5, 1, 6),
        (10, 0.5, 2, 9),
        (20, 0.5, 6, 15),
        (100, 0.5, 40, 61),
        (58, 0.95, 51, None),
    ],
)
def test_the_interval_of_a_quantile(n: int, p: float, low: int | None, high: int | None) -> None:
    found = intervals.quantile([float(number) for number in range(n, 0, -1)], p)
    assert (found.low, found.high) == (low, high)


def test_quantiles_are_observations() -> None:
    assert intervals.quantile([3.0, 1.0, 2.0], 0.5).value == 2
    assert intervals.quantile([4.0, 3.0, 1.0, 2.0], 0.5).value == 2
    assert intervals.quantile([4.0, 3.0, 1.0, 2.0], 0.95).value == 4


@pytest.mark.parametrize(
    ("count", "low", "high"), [(0, 0, 3.689), (1, 0.025, 5.572), (10, 4.795, 18.39), (100, 81.36, 121.63)]
)
def test_the_interval_of_a_rate(count: int, low: float, high: float) -> None:
    """Against the exact Poisson limits."""
    found = intervals.rate(count, 2)
    assert found.value == count / 2
    assert found.low == pytest.approx(low / 2, abs=0.02)
    assert found.high == pytest.approx(high / 2, abs=0.15)


def test_nothing_gives_nothing() -> None:
    for found in (intervals.share(0, 0), intervals.quantile([], 0.5), intervals.rate(3, 0)):
        assert (found.value, found.low, found.high) == (None, None, None)
