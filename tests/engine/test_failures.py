"""Failures: definite, retryable, poison, lost workers; each visible with its cause, and retried as new calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from unittest import mock

import pytest
from django.utils import timezone

from runs import models, planner, state
from runs.engine import advance, clock, frontier, verifier
from runs.providers.playbook import Playbook
from runs.tools import registry
from runs.tools.contract import DidNotHappen
from runs.transitions import clocks, steps
from tests.engine import clockwork, world
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import Killed, expire_lease
from tests.engine.world import Look, World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_a_read_is_tried_three_times_with_backoff(start: Start) -> None:
    Look.failures = [OSError("first"), OSError("second")]
    run = go(start(step("look", "it")))
    assert (run.status, run.reason) == ("queued", "backoff")
    assert run.wake_at is not None
    assert run.wake_at > timezone.now()
    for hours in (1, 2):
        with clockwork.ahead(hours=hours):
            run = go(run)
    assert run.status == "succeeded"
    assert len(Look.runs) == 3
    verifier.verify()


def test_a_read_that_keeps_failing_fails_the_run_and_a_retry_asks_anew(
    start: Start, operator: models.User
) -> None:
    Look.failures = [OSError("gone")] * 3
    run = go(start(step("look", "it")))
    for hours in (1, 2):
        with clockwork.ahead(hours=hours):
            run = go(run)
    assert run.status == "failed"
    assert "OSError: gone" in run.error
    review = only_review(run)
    assert review.kind == "failure"
    answer(review, operator, "retry")
    run = go(run)
    assert run.status == "succeeded", run.error
    assert models.Entry.objects.filter(run=run, kind="reply").count() == 4
    verifier.verify()


def test_a_definite_failure_of_a_read_is_final_at_once(start: Start) -> None:
    Look.failures = [DidNotHappen("the file is empty")]
    run = go(start(step("look", "it")))
    assert run.status == "failed"
    assert "the file is empty" in run.error
    verifier.verify()


def test_a_proven_failure_closes_the_call_and_voids_the_occurrence(
    start: Start, reviewer: models.User
) -> None:
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    World.absent = "the address does not exist"
    run = go(run)
    assert run.status == "failed"
    assert models.Action.objects.get(run=run).status == "failed"
    assert models.Occurrence.objects.get(root=run).state == "void"
    assert World.effects() == []
    verifier.verify()


def test_a_proven_retryable_failure_is_sent_again_under_the_same_key(
    start: Start, reviewer: models.User
) -> None:
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    World.absent = "again later: connection refused"
    run = go(run)
    assert (run.status, World.effects()) == ("queued", [])
    World.absent = ""
    with clockwork.ahead(hours=1):
        run = go(run)
    assert run.status == "succeeded"
    assert models.Occurrence.objects.filter(root=run).count() == 1
    keys = {line.content["key"] for line in models.Entry.objects.filter(run=run, kind="intent")}
    assert len(keys) == 1
    verifier.verify()


def test_a_run_that_kills_its_workers_ends_visibly(start: Start, operator: models.User) -> None:
    run = start(step("look", "it"))
    with mock.patch.object(world.Look, "run", side_effect=Killed):
        for _ in range(6):  # the first claim got something done: it stored the reply
            with pytest.raises(Killed):
                go(run)
            expire_lease(run)
    run = go(run)
    assert run.status == "failed"
    assert "lost several times" in run.error
    answer(only_review(run), operator, "retry")
    run = go(run)
    assert run.status == "succeeded", run.error
    verifier.verify()


def test_a_fault_of_the_engine_is_counted_and_ends_in_a_review(start: Start) -> None:
    run = start(step("look", "it"))
    with mock.patch.object(Playbook, "complete", side_effect=RuntimeError("a bug")):
        for hours in range(1, 8):
            with clockwork.ahead(hours=hours):
                run = go(run)
    assert run.status == "failed"
    verifier.verify()


def test_a_tool_that_is_gone_parks_the_run_with_one_sentence(start: Start, reviewer: models.User) -> None:
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    with mock.patch.dict(registry._tools):
        del registry._tools["world.lookup"]
        run = go(run)
    assert (run.status, run.reason) == ("waiting", "pins")
    assert "The tool world.lookup is no longer installed." in only_review(run).content["cause"]
    assert World.effects() == []
    verifier.verify()


def test_a_waiting_run_with_nothing_to_wait_for_is_woken_and_audited(start: Start) -> None:
    run = go(start(step("lookup", "mail")))
    models.Review.objects.filter(run=run).update(status="superseded", closed_at=timezone.now())
    assert clocks.wake_stranded() == 1
    run.refresh_from_db()
    assert run.status == "queued"
    assert models.AuditEvent.objects.filter(act="run.woken", run=run).count() == 1


def test_however_many_wait_the_clock_looks_at_some_a_tick_and_comes_round(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks, "NET", 1)
    first, second = (go(start(step("lookup", "mail"))) for _ in range(2))
    net = clock.Net()
    assert net.look() == 0
    models.Review.objects.filter(run=first).update(status="superseded", closed_at=timezone.now())
    assert [net.look() for _ in range(3)] == [0, 0, 1]  # the second, the end of the round, the first
    second.refresh_from_db()
    assert second.status == "waiting"


def test_a_worker_told_to_stop_hands_the_run_back_uncounted(start: Start) -> None:
    run = start(step("look", "it"))
    advance.advance(run.pk, stopping=lambda: True)
    run.refresh_from_db()
    assert (run.status, run.reason, run.attempts) == ("queued", "shutdown", 0)


@pytest.fixture
def moves() -> Iterator[list[tuple[int, state.State]]]:
    """Every state that the engine planned from, with its position."""
    seen: list[tuple[int, state.State]] = []
    real = planner.next_move

    def note(situation: planner.Situation) -> planner.Move:
        seen.append((situation.state.position, situation.state))
        return real(situation)

    with mock.patch.object(planner, "next_move", note):
        yield seen


def test_the_fold_of_the_log_is_the_state_that_the_engine_saw(
    start: Start, reviewer: models.User, moves: list[tuple[int, state.State]]
) -> None:
    run = go(
        start(
            step("look", "it"), step("allowed", "draft"), step("lookup", "mail"), step("unprotected", "two")
        )
    )
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    answer(only_review(run), reviewer, "reject", reason="no")
    run = go(run)
    assert run.status == "succeeded"
    log = [
        state.Entry(position=line.position, kind=line.kind, content=line.content)
        for line in models.Entry.objects.filter(run=run).order_by("position")
    ]
    assert len(moves) > 10
    for position, seen in moves:
        folded = state.fold([entry for entry in log if entry.position <= position])
        assert seen.open_calls() == folded.open_calls()
        assert seen.counters == folded.counters
        assert seen.plan_version == folded.plan_version
        assert seen.plan == tuple(item for item in folded.plan if item.state in {"pending", "active"})


def test_a_frontier_has_a_fixed_number_of_queries(
    start: Start, django_assert_max_num_queries: Callable[[int], object]
) -> None:
    run = start(
        *[step("look", f"n{number}", id=f"s{number}") for number in range(30)], step("lookup", "mail")
    )
    go(run)
    models.Run.objects.filter(pk=run.pk).update(status="queued", wake_at=timezone.now())
    claim = steps.claim(run.pk)
    assert claim is not None
    with django_assert_max_num_queries(8):  # type: ignore[attr-defined]
        frontier.load(claim)
