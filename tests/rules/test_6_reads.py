"""Reads of one reply go side by side, and what one of them found is never lost with the others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest

from runs import models
from runs.engine import advance, verifier
from runs.providers import contract as providers
from runs.providers.playbook import Playbook
from runs.tools import contract
from runs.transitions import holds
from runs.transitions.actor import Actor
from tests import waiting
from tests.engine import clockwork
from tests.engine.conftest import go
from tests.engine.test_unknown import Killed, expire_lease
from tests.engine.world import Look

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def rows(names: str) -> dict[str, Any]:
    """A loop that looks at each of these letters, in one reply."""
    each = "[" + ", ".join(f'"{name}"' for name in names) + "]"
    return {
        "id": "rows", "title": "Rows", "each": each, "as": "row", "key": "row", "tool": "world.look",
        "with": {"name": "${row}"},
    }  # fmt: skip


@contextmanager
def looking(function: Callable[[str], None]) -> Iterator[None]:
    """Let each read call `function` with its name first."""

    def run(_self: Look, args: Any, _ctx: contract.Context) -> contract.Receipt:
        function(args.name)
        return contract.Receipt(summary=f"Looked at {args.name}.", value={"seen": args.name})

    with mock.patch.object(Look, "run", run):
        yield


def stored(run: models.Run) -> list[str]:
    """What the reads that are stored found, in the order of the log."""
    lines = models.Entry.objects.filter(run=run, kind="result").order_by("position")
    return [line.content["value"]["seen"] for line in lines if "seen" in (line.content.get("value") or {})]


def requests(run: models.Run) -> list[providers.Request]:
    """Advance the run; return what the provider was asked."""
    seen: list[providers.Request] = []
    real = Playbook.complete

    def note(self: Playbook, request: providers.Request, *, timeout: float) -> providers.Reply:
        seen.append(request)
        return real(self, request, timeout=timeout)

    with mock.patch.object(Playbook, "complete", note):
        go(run)
    return seen


def test_6_7_each_result_is_stored_when_it_arrives_and_asked_for_in_call_order(start: Start) -> None:
    """The order in which results arrive is in the log, and changes nothing of the next request."""
    late, early = start(rows("abc")), start(rows("abc"))

    def last(name: str) -> None:
        if name == "a":
            waiting.until(lambda: sorted(stored(late)) == ["b", "c"])

    with looking(last):
        asked = requests(late)[-1].results
    assert stored(late)[-1] == "a"
    turn = threading.Condition()
    done: list[str] = []

    def in_order(name: str) -> None:
        with turn:
            assert turn.wait_for(lambda: len(done) == "abc".index(name), timeout=10)
            done.append(name)
            turn.notify_all()

    with looking(in_order):
        assert requests(early)[-1].results == asked
    verifier.verify()


def test_6_7_a_crash_costs_only_the_reads_without_a_result(start: Start) -> None:
    """Two of three reads were stored when the worker died: only the third runs again."""
    run = start(rows("abc"))
    seen: list[str] = []

    def dying(name: str) -> None:
        seen.append(name)
        if name == "c" and seen.count("c") == 1:
            waiting.until(lambda: sorted(stored(run)) == ["a", "b"])
            raise Killed

    with looking(dying):
        with pytest.raises(Killed):
            go(run)
        expire_lease(run)
        assert go(run).status == "succeeded"
    assert sorted(seen) == ["a", "b", "c", "c"]
    verifier.verify()


def test_4_7_a_stop_lets_reads_under_way_end_and_starts_no_other(start: Start, operator: models.User) -> None:
    """Eight of ten reads are under way when the run is stopped: they are stored, the other two never begin."""
    run = start(rows("abcdefghij"))
    seen: list[str] = []
    stopped = threading.Event()

    def stop() -> None:
        waiting.until(lambda: len(seen) == 8)
        holds.stop(run.pk, reason="enough", by=Actor(user=operator))
        stopped.set()
        from django.db import connection

        connection.close()

    def look(name: str) -> None:
        seen.append(name)
        assert stopped.wait(10)

    person = threading.Thread(target=stop)
    person.start()
    with looking(look):
        run = go(run)
    person.join()
    assert run.status == "cancelled"
    assert sorted(seen) == list("abcdefgh")
    assert sorted(stored(run)) == list("abcdefgh")
    closed = models.Entry.objects.filter(run=run, kind="result", content__contains="enough")
    assert closed.count() == 2
    verifier.verify()


def test_3_7_a_worker_told_to_stop_drops_its_reads_and_hands_back_uncounted(start: Start) -> None:
    """A read that takes long doesn't keep a worker that is told to stop; it is done again elsewhere."""
    run = start(rows("ab"))
    told, go_on = threading.Event(), threading.Event()

    def look(name: str) -> None:
        if name == "b":
            waiting.until(lambda: stored(run) == ["a"])
            told.set()
            assert go_on.wait(10)

    with looking(look):
        advance.advance(run.pk, stopping=told.is_set)
    go_on.set()
    run.refresh_from_db()
    assert (run.status, run.reason, run.attempts) == ("queued", "shutdown", 0)
    assert stored(run) == ["a"]
    assert go(run).status == "succeeded"
    verifier.verify()


def test_3_5_a_read_that_outlives_its_deadline_is_given_up_and_its_late_answer_dropped(start: Start) -> None:
    """A read that hangs is tried again after a while; what the first one says in the end is not taken."""
    run = start(rows("ab"))
    go_on = threading.Event()
    seen: list[str] = []

    def look(name: str) -> None:
        seen.append(name)
        if seen.count("a") == 1 and name == "a":
            assert go_on.wait(10)

    with looking(look), mock.patch.object(Look, "timeout", timedelta(seconds=0.3)):
        run = go(run)
        assert (run.status, run.reason) == ("queued", "backoff")
        assert "did not answer in time" in run.error
        assert stored(run) == ["b"]
        go_on.set()
        with clockwork.ahead(hours=1):
            run = go(run)
    assert run.status == "succeeded"
    assert stored(run) == ["b", "a"]
    verifier.verify()
