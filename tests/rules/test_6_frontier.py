"""What a long run costs: progress is marks, not whole plans; a claim reads the frontier, not the log."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs import models
from runs.engine import frontier, verifier
from runs.transitions import steps
from tests.engine.conftest import go, step

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def looks(count: int) -> list[dict[str, object]]:
    return [step("look", f"n{number}", id=f"s{number}") for number in range(count)]


def test_6_2_a_plan_version_holds_definitions_and_is_written_on_edits_only(start: Start) -> None:
    """Twenty steps are done under one version; what was done stands in the log's results."""
    run = go(start(*looks(20)))
    assert run.status == "succeeded"
    version = models.Plan.objects.get(run=run)
    assert all(set(item) == {"id", "title", "body"} for item in version.steps)
    assert models.Entry.objects.filter(run=run, kind="plan").count() == 1
    done = models.Entry.objects.filter(run=run, kind="result")
    assert sum(line.content.get("step_state") == "done" for line in done) == 21
    assert set(models.PlanStep.objects.filter(run=run).values_list("state", flat=True)) == {"done"}
    verifier.verify()


def cost_of_a_look(start: Start, count: int) -> tuple[int, int]:
    """Queries and log lines that a claim reads of a run that waits after so many steps."""
    run = go(start(*looks(count), step("lookup", "pay")))
    models.Run.objects.filter(pk=run.pk).update(status="queued", wake_at=run.created_at)
    claim = steps.claim(run.pk)
    assert claim is not None
    with CaptureQueriesContext(
        connection,
    ) as queries:
        front = frontier.load(claim)
    assert [call.status for call in front.situation.state.open_calls()] == ["held"]
    return len(queries), front.situation.state.position


def test_6_3_a_claim_reads_as_much_of_a_long_run_as_of_a_short_one(start: Start) -> None:
    """Frontier, not fold: the same queries, whatever stands behind."""
    short, few = cost_of_a_look(start, 1)
    long, many = cost_of_a_look(start, 40)
    assert long == short
    assert many > 10 * few / 2
