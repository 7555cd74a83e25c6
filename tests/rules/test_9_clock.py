"""The clock: every act is conditional and harmless twice, hints never storm, and nothing is stranded."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
import redis
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from runs import models, tasks
from runs.engine import advance, clock, verifier, worker
from runs.models import dues
from runs.models.run import FORMAT
from runs.tools.contract import DidNotHappen
from runs.transitions import clocks, inbox, steps, switches
from runs.transitions.actor import Actor
from tests.engine import clockwork, lock_order
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import Look, World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
QUEUE = "advance"


@pytest.fixture
def queue() -> Iterator[redis.Redis]:
    """The broker's queue, empty."""
    server = redis.Redis.from_url(settings.REDIS_CLIENT)
    server.delete(QUEUE)
    yield server
    server.delete(QUEUE)
    server.close()


def copies(run: models.Run, count: int, *, minutes: float = 1.0) -> list[int]:
    """More due runs like this one, due since so many minutes; they are only looked at, never claimed."""
    due = timezone.now() - datetime.timedelta(minutes=minutes)
    made = []
    for _ in range(count):
        run = models.Run.objects.get(pk=run.pk)
        token = f"copy-{models.Run.objects.count()}"
        run.pk, run.start_token, run.mode, run.wake_at = None, token, "dry_run", due
        run.save(force_insert=True)
        made.append(run.pk)
    return made


@contextmanager
def elsewhere(hold: Callable[[], object]) -> Iterator[None]:
    """Let another session run `hold` in a transaction that stays open while the block runs."""
    held, go_on = threading.Event(), threading.Event()

    def other() -> None:
        with transaction.atomic():
            hold()
            held.set()
            go_on.wait(10)
        connection.close()

    thread = threading.Thread(target=other)
    thread.start()
    try:
        assert held.wait(10)
        yield
    finally:
        go_on.set()
        thread.join()


def test_9_1_an_act_of_the_clock_waits_for_nobody(start: Start) -> None:
    """A run that somebody else holds is passed over, and the next tick does what this one left."""
    run = go(start(step("lookup", "mail")))
    models.Review.objects.filter(run=run).update(expires_at=timezone.now())
    with elsewhere(lambda: inbox.lock(run.pk)):
        assert clocks.expire_reviews() == 0
        assert clocks.wake_stranded() == 0
    assert clocks.expire_reviews() == 1
    assert clocks.expire_reviews() == 0


def test_9_1_the_lock_of_the_clock_ends_with_its_batch(start: Start) -> None:
    """A batch that fails leaves no lock behind in the session, so the other clock goes on."""
    run = start(step("look", "it"))
    with mock.patch.object(dues, "due", side_effect=RuntimeError), pytest.raises(RuntimeError):
        clocks.due_runs(limit=5)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
        assert cursor.fetchone() == (0,)
    assert clocks.due_runs(limit=5) == [run.pk]


def test_9_1_two_clocks_hint_once(start: Start) -> None:
    """Two clocks look at the same moment: no due run is hinted by both, none by neither."""
    runs = {*copies(start(step("look", "it")), 6)} | set(models.Run.objects.values_list("pk", flat=True))
    both = threading.Barrier(2)
    found: list[int] = []

    def look() -> None:
        both.wait(10)
        for _ in range(3):
            found.extend(clocks.due_runs(limit=20))
        connection.close()

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(runs)


def test_9_2_hints_never_storm(start: Start, queue: redis.Redis) -> None:
    """Many runs are due and nobody takes hints: the queue is topped up, it doesn't grow."""
    copies(start(step("look", "it")), 20)
    queue.delete(QUEUE)
    most = 2 * settings.CKPTSITE["SLOTS"]
    for hours in range(1, 5):
        with clockwork.ahead(hours=hours):
            clock.tick()
            assert queue.llen(QUEUE) == most


def test_9_2_one_hint_a_run_and_the_agents_in_turn(start: Start) -> None:
    """One agent's long backlog doesn't stand before another agent's newest run, and no run is hinted again at once."""
    first = start(step("look", "it"))
    copies(first, 8, minutes=60)
    second = start(step("look", "it"))
    found = clocks.due_runs(limit=3)
    assert second.pk in found
    assert not set(found) & set(clocks.due_runs(limit=3))


def test_9_3_an_early_hint_skips_no_back_off(start: Start) -> None:
    """A run that sleeps until a moment is queued with its reason; a message that comes earlier moves nothing."""
    Look.failures = [OSError("busy")]
    run = go(start(step("look", "it")))
    assert (run.status, run.reason) == ("queued", "backoff")
    seen = len(Look.runs)
    assert not advance.advance(run.pk)
    tasks.advance(run.pk)
    assert len(Look.runs) == seen


def test_9_3_forged_messages_move_nothing(start: Start) -> None:
    """A message names a run and nothing else; what names none costs one look."""
    run = go(start(step("lookup", "mail")))
    before = models.Entry.objects.filter(run=run).count()
    for forged in (0, -1, 10**30, run.pk, "1 OR 1=1", None, {"id": run.pk}, [run.pk]):
        tasks.advance(forged)
    assert models.Entry.objects.filter(run=run).count() == before


def test_9_4_a_run_that_waits_for_nothing_is_queued_and_audited(start: Start) -> None:
    """Edited by hand, or a fault: the clock wakes it, once, and says so."""
    run = go(start(step("lookup", "mail")))
    models.Review.objects.filter(run=run).update(status="superseded", closed_at=timezone.now())
    assert (clocks.wake_stranded(), clocks.wake_stranded()) == (1, 0)
    assert models.AuditEvent.objects.filter(act="run.woken", run=run).count() == 1


def test_9_4_a_fact_that_was_not_folded_in_wakes_its_run(start: Start) -> None:
    run = go(start(step("lookup", "mail")))
    answer_of = models.Fact.objects.create(run=run, number=run.inbox + 1, kind="wake", content={})
    models.Run.objects.filter(pk=run.pk).update(inbox=answer_of.number)
    assert clocks.wake_stranded() == 1


def test_9_4_a_failed_run_that_nobody_was_asked_about_is_found(start: Start) -> None:
    """Each failure has an owner; one without a question is a row that somebody took away."""
    Look.failures = [DidNotHappen("the file is empty")]
    run = go(start(step("look", "it")))
    assert run.status == "failed"
    verifier.verify()
    with lock_order.excused("somebody takes a row away, past the product"):
        models.Review.objects.filter(run=run, kind="failure").delete()
    with pytest.raises(verifier.Broken, match="nobody was asked"):
        verifier.verify()


def test_9_5_priority_first_and_no_unknown_format(start: Start) -> None:
    """Urgent runs come first, then the longest due; a run of a newer version's format is left to that version."""
    late, early = start(step("look", "it")), start(step("look", "it"))
    models.Run.objects.filter(pk=early.pk).update(priority=1)
    newer = start(step("look", "it"))
    models.Run.objects.filter(pk=newer.pk).update(format=FORMAT + 1, priority=0)
    assert clocks.next_due() == early.pk
    assert clocks.due_runs(limit=9) == [early.pk, late.pk]
    assert not advance.advance(newer.pk)


def test_9_5_workers_take_the_agents_in_turn(start: Start) -> None:
    """Many runs of one agent that are due for long hold up nobody's; precedence goes before turns."""
    first = start(step("look", "it"))
    many = [first.pk, *copies(first, 4)]
    second, third, urgent = (start(step("look", "it")).pk for _ in range(3))
    models.Run.objects.filter(pk__in=[urgent, many[4]]).update(priority=1)
    served: set[int] = set()
    order: list[int] = []
    while (found := clocks.next_due(exclude=frozenset(order), served=served)) is not None:
        order.append(found)
    assert set(order[:2]) == {urgent, many[4]}
    assert order[2:4] == [second, third]  # the many have had their turn
    assert set(order[4:]) == set(many[:4])


def test_9_5_an_attempt_that_may_not_go_on_yet_stands_in_nobodys_way(start: Start) -> None:
    """The next attempt waits for the one before it: it isn't due, and workers go on to the others."""
    old = go(start(step("lookup", "mail")))
    new = models.Run.objects.get(pk=copies(start(step("look", "it")), 1)[0])
    models.Run.objects.filter(pk=old.pk).update(superseded_by=new)
    models.Run.objects.filter(pk=new.pk).update(begun=False, mode="live", root=old)
    assert steps.claim(new.pk) is None
    assert new.pk not in clocks.due_runs(limit=9)
    assert clocks.next_due() not in {None, new.pk}


def test_9_5_a_paused_installation_is_idle(start: Start, person: Callable[..., models.User]) -> None:
    """Nothing is due while everything is paused, so nobody turns in circles; afterwards everything is."""
    run = start(step("look", "it"))
    admin = Actor(user=person("ada", "admin"))
    switches.pause_all(True, by=admin, reason="Test.")
    assert clocks.due_runs(limit=9) == []
    assert worker.drain(until_idle=True) == 0
    switches.pause_all(False, by=admin)
    assert clocks.due_runs(limit=9) == [run.pk]


def test_9_2_messages_may_be_doubled_lost_and_reordered(start: Start, reviewer: models.User) -> None:
    """Four workers get the same two messages in different order: each effect happens once; the third needs none."""
    runs = [start(step("lookup", f"mail {number}")) for number in range(3)]
    for run in runs:
        go(run)
        answer(only_review(run), reviewer, "approve")

    def work(order: list[models.Run]) -> None:
        for run in order:
            worker.work(run.pk, stopping=advance.never)
        connection.close()

    orders = [runs[:2], runs[1::-1], runs[:2], runs[1::-1]]
    threads = [threading.Thread(target=work, args=[order]) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {run.status for run in models.Run.objects.all()} == {"succeeded"}
    assert sorted(line["name"] for line in World.effects()) == ["mail 0", "mail 1", "mail 2"]
