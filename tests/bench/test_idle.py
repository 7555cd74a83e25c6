"""What waiting runs cost in numbers that no busy machine changes, and the arithmetic of the rest."""

from __future__ import annotations

import pytest

from tests.bench import bars, idle, together

FEW, MANY = 1, 12


@pytest.mark.django_db(transaction=True)
def test_runs_that_wait_add_no_statement_and_take_no_slot() -> None:
    idle.let_wait(FEW)
    few = together.at_rest()
    idle.let_wait(MANY)
    many = together.at_rest()
    assert many.statements == few.statements > 0
    assert many.slices == 0


def test_what_was_added_is_told_from_noise_and_held_against_its_bar() -> None:
    without = {"statements": [7.0], "sweep": [2.0], "cpu": [1.0], "commits": [4.0], "claim": [10.0]}
    beside = {"statements": [7.0], "sweep": [4.5], "cpu": [2.5], "commits": [4.2], "claim": [20.0]}
    judged = bars.judged(idle.compared(without, beside))
    assert {
        name: figure["ok"] for name, figure in judged.items() if not name.endswith(("with", "without"))
    } == {
        "idle_statements": True,
        "idle_sweep": True,
        "idle_cpu": False,
        "idle_commits": True,
        "idle_claim": False,
    }
    assert (judged["idle_sweep"]["median"], judged["idle_claim"]["median"]) == (1.0, 2.0)
