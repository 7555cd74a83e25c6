"""Whatever may happen, in any order, breaks no guarantee; and a wrong engine is caught by the same steps."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.errors import FlakyFailure
from hypothesis.stateful import run_state_machine_as_test

from runs.engine import verifier
from tests.harness import controls, machine, machine_desk, shifted, workers
from tests.harness.stage import Stage

EXAMPLES = int(os.environ.get("CKPTSITE_MACHINE_EXAMPLES", "10"))
STEPS = 40


def play(examples: int, phases: tuple[Phase, ...] = tuple(Phase)) -> None:
    """Run the machine; its seed is fixed, so it takes the same steps each time."""
    steps = settings(
        max_examples=examples, stateful_step_count=STEPS, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck), phases=phases, report_multiple_bugs=False,
    )  # fmt: skip
    with shifted.shifted() as clock, workers.working() as hands:
        machine.Machine.stage = Stage(clock, hands)
        run_state_machine_as_test(machine.Machine, settings=steps)
        verifier.verify()


@pytest.mark.seconds
@pytest.mark.django_db(transaction=True)
def test_nothing_that_may_happen_breaks_a_guarantee() -> None:
    """With CKPTSITE_MACHINE_EXAMPLES as many examples as one likes."""
    machine.Machine.told = dict.fromkeys(machine.Machine.told, 0)
    play(EXAMPLES)
    told = machine.Machine.told
    assert sum(told.get(act, 0) for act in machine_desk.ACTS) > EXAMPLES, told
    assert min(told["intents"], told["deaths"], told["answers"]) > EXAMPLES / 4, told
    assert told["zombies"] > 0, told
    if EXAMPLES >= 100:  # every act at the desk was taken at least once
        assert all(told.values()), told


@pytest.mark.skipif(
    not os.environ.get("CKPTSITE_HARNESS"), reason="half a minute; set CKPTSITE_HARNESS to table or full"
)
@pytest.mark.seconds
@pytest.mark.django_db(transaction=True)
def test_a_wrong_engine_is_caught() -> None:
    """An engine that sends whatever is unknown again: the same machine finds what it doubles.

    Played again, the same steps may go another way, since zombies are threads; once caught is caught.
    """
    with controls.broken("naive-retry"), pytest.raises((AssertionError, FlakyFailure)) as caught:
        play(100, phases=(Phase.generate,))
    found = caught.value.exceptions if isinstance(caught.value, FlakyFailure) else (caught.value,)
    assert [error for error in found if isinstance(error, AssertionError) and "doubled" in str(error)], found
