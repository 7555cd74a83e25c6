"""Locks are taken in one order by everybody, so that people and engine never end in a deadlock."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import connection, transaction
from django.utils import timezone

from runs import models
from runs.engine import origin
from runs.transitions import audit, clocks, evidence, holds, inbox, restores, switches
from runs.transitions.actor import ENGINE, Actor
from tests.engine import lock_order
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import crash, released, tomorrow

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]


def test_5_3_engine_and_people_lock_in_one_order(start: Start, reviewer: models.User) -> None:
    """A whole run with a read, an effect that is allowed, one that is approved and one that is refused."""
    lock_order.seen.clear()
    run = go(
        start(step("look", "it"), step("allowed", "draft"), step("lookup", "mail"), step("unprotected", "b"))
    )
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    answer(only_review(run), reviewer, "reject", reason="no")
    assert go(run).status == "succeeded"
    assert {held[-1] for held in lock_order.seen} == set(lock_order.ORDER)


def test_5_3_outcomes_nobody_knows_are_settled_in_that_order(start: Start, reviewer: models.User) -> None:
    """Answers of people, evidence, and a look-up, each about an effect whose worker was lost."""
    for verdict in ("happened", "absent_leave", "unknown", "evidence"):
        run = released(start, reviewer, "unprotected")
        crash(run)
        run = go(run)
        if verdict == "evidence":
            action = models.Action.objects.get(run=run)
            content = {"summary": "Sent.", "value": None}
            evidence.append(action.pk, attempt=1, outcome="happened", source="worker", content=content)
        else:
            answer(only_review(run), reviewer, verdict, receipt="Seen.", rendered_at=tomorrow())
        go(run)
    run = released(start, reviewer, "lookup")
    crash(run)
    assert go(run).status == "succeeded"


def test_5_3_clock_switches_and_stops_keep_to_it(start: Start, operator: models.User, person: Person) -> None:
    admin = Actor(user=person("ada", "admin"))
    run = go(start(step("lookup", "mail")))
    models.Review.objects.filter(run=run).update(expires_at=timezone.now())
    other = go(start(step("lookup", "letter")))
    assert clocks.expire_reviews() == 1
    clocks.wake_stranded()
    clocks.due_runs(limit=5)
    switches.pause_all(True, by=admin, reason="Test.")
    switches.pause_all(False, by=admin)
    restores.found(str(origin.read()), why="A test.")
    restores.release(reason="a test", by=admin)
    go(run)
    holds.pause(other.pk, reason="", by=Actor(user=operator))
    holds.resume(other.pk, by=Actor(user=operator))
    holds.stop(other.pk, reason="enough", by=Actor(user=operator))
    go(other)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("UPDATE runs_review SET title = title", "UPDATE runs_run SET title = title"),
        ("SELECT 1 FROM runs_run", 'SELECT 1 FROM "runs_action" WHERE id = 1 FOR UPDATE OF "runs_action"'),
        ('SELECT 1 FROM "runs_audithead" FOR UPDATE', "UPDATE runs_run SET title = title"),
        ("UPDATE runs_occurrence SET n = n", "UPDATE runs_run SET title = title"),
    ],
)
def test_5_3_another_order_is_found(first: str, second: str) -> None:
    """Whoever does it, in whatever thread; the test would fail in its end had it not looked itself."""
    thread = threading.Thread(target=both, args=(first, second))
    thread.start()
    thread.join()
    assert any(" is locked " in line for line in lock_order.taken())
    with lock_order.excused("it plays somebody who isn't the product"):
        both(first, second)
    assert lock_order.taken() == []


def test_5_3_another_order_within_one_statement_is_found() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH o AS (UPDATE runs_occurrence SET n = n RETURNING 1) UPDATE runs_run SET title = title FROM o"
        )
    assert len(lock_order.taken()) == 1


def both(first: str, second: str) -> None:
    """Run two statements in one transaction."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(first)
            cursor.execute(second)
    finally:
        if threading.current_thread() is not threading.main_thread():
            connection.close()


def test_5_3_each_transaction_begins_anew() -> None:
    for sql in ("UPDATE runs_occurrence SET n = n", "UPDATE runs_run SET title = title"):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql)
    assert lock_order.taken() == []


def test_5_3_one_statement_locks_in_the_order_of_its_parts() -> None:
    """The parts of a statement of the engine hang on the run's part, which comes first."""
    text = (
        "WITH run AS (UPDATE runs_run SET a = 1 RETURNING id), u AS (UPDATE runs_action t SET b = 1 FROM run)"
    )
    assert lock_order.locked(text) == ("runs_run", "runs_action")
    assert lock_order.locked(
        'SELECT 1 FROM "runs_run" WHERE id = 1 FOR UPDATE OF "runs_run" SKIP LOCKED'
    ) == ("runs_run",)
    assert lock_order.locked("SELECT 1 FROM runs_run") == ()


def test_5_3_what_names_a_locked_run_is_written_beside_it(start: Start) -> None:
    """Whoever locks a run and then the chain, and who holds the chain and writes of that run, never meet."""
    run = start(step("look"))
    done = threading.Event()

    def tell() -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '5s'")
                audit.append("test.told", actor=ENGINE, run=run, subject="a test")
            done.set()
        finally:
            connection.close()

    with transaction.atomic():
        inbox.lock(run.pk)
        other = threading.Thread(target=tell)
        other.start()
        other.join()
        audit.append("test.locked", actor=ENGINE, run=run, subject="a test")
    assert done.is_set()
