"""The engine's cost in numbers that no busy machine changes: commits, statements, rows. And the arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.bench import bars, hotpath

SHORT, LONG = 8, 30
Kind = Callable[[int], hotpath.Worked]


@pytest.mark.django_db(transaction=True)
def test_an_effect_is_two_commits_at_most_and_a_reply_and_a_read_are_one() -> None:
    reads = hotpath.reads_and_replies(SHORT, asked=True)
    assert reads.commits["reply"] == reads.run.steps == len(reads.replies) == SHORT + 1
    assert bars.BARS["commits_per_asked_read"].met(reads.commits_each()), reads.commits
    alone = hotpath.effects(SHORT, asked=True)
    assert (alone.run.steps, len(alone.replies)) == (SHORT + 1, SHORT + 1)
    assert bars.BARS["commits_per_effect"].met(alone.commits_each()), alone.commits
    for kind in (hotpath.reads_and_replies, hotpath.effects):
        local = kind(SHORT)
        assert (local.run.steps, len(local.replies)) == (SHORT + 1, SHORT + 1)
        assert local.commits_each() <= 1.0 + 1 / SHORT, local.commits  # the last result goes with the end
    released = hotpath.released_effects(SHORT)
    assert len(released.replies) == 2
    assert released.commits_each() <= 1.0 + 1 / SHORT, released.commits


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", [hotpath.reads_and_replies, hotpath.effects])
def test_a_step_says_and_reads_the_same_however_long_the_run_is(kind: Kind) -> None:
    kind(2)  # what is read once in a process has been read
    short, long = kind(SHORT).said, kind(LONG).said
    more = LONG - SHORT
    assert (long.statements - short.statements) / more <= 1.1 * short.statements / SHORT
    assert (long.rows - short.rows) / more <= 1.1 * short.rows / SHORT


def test_a_figure_is_judged_by_its_median_and_shows_its_range() -> None:
    found = bars.judged({"step_of_l1": [0.70, 0.60, 0.66], "whole_state": [26.0], "l1": [2000.4]})
    assert list(found) == ["l1", "step_of_l1", "whole_state"]
    assert (found["step_of_l1"]["median"], found["step_of_l1"]["range"]) == (0.66, [0.6, 0.7])
    assert [figure["ok"] for figure in found.values()] == [True, True, False]
    lines = bars.lines(found)
    assert lines[0].endswith("[2,000 - 2,000]")
    assert lines[1].endswith(">= 0.65   ok")
    assert lines[2].endswith("<= 25     MISSED")
