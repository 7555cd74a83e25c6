"""An agent that asks without end has so many questions open, and no more; nothing of the rest is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from runs import models
from runs.engine import verifier
from runs.transitions import starts
from runs.transitions.actor import Actor
from runs.transitions.steps import crowding
from tests.engine.conftest import answer, go
from tests.engine.world import World
from tests.rules.test_4_order import rows

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def opened(run: models.Run) -> list[models.Review]:
    return list(models.Review.objects.filter(run=run, status="open").order_by("pk"))


def test_5_a_run_asks_for_as_much_as_may_be_open_and_goes_on_as_that_is_answered(
    start: Start, reviewer: models.User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It rests in sight with a reason, and each call is asked about and done once."""
    monkeypatch.setitem(settings.CKPTSITE, "PENDING_RUN", 2)
    run = go(start(rows("lookup", "a", "b", "c", "d", "e")))
    assert len(opened(run)) == 2
    client = Client()
    client.force_login(reviewer)
    assert (run.status, run.reason) == ("queued", "crowded")
    assert "more to ask than may be open" in client.get(f"/runs/{run.pk}/").content.decode()
    other = go(start(rows("lookup", "x")))  # the limit is of one run and of one agent
    assert len(opened(other)) == 1
    asked = 0
    while found := opened(run):
        assert len(found) <= 2
        answer(found[0], reviewer, "approve")
        asked += 1
        run = go(run)
    assert (asked, run.status) == (5, "succeeded")
    assert [line["name"] for line in World.effects()] == list("abcde")
    verifier.verify()


def test_5_runs_of_one_agent_that_ask_at_the_same_moment_open_no_more_than_may_be_open(
    start: Start, operator: models.User, reviewer: models.User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each saw room for its question before the other's was there; only the first one opens, of either kind."""
    monkeypatch.setitem(settings.CKPTSITE, "PENDING_AGENT", 1)
    look, together, looked = crowding.room, threading.Barrier(2), set[int]()

    def room(run: models.Run) -> int:
        found = look(run)
        if run.pk not in looked and threading.current_thread() is not threading.main_thread():
            looked.add(run.pk)
            together.wait(20)
        return found

    def work(run: models.Run) -> None:
        try:
            go(run)
        finally:
            connection.close()

    monkeypatch.setattr(crowding, "room", room)
    question = {"id": "way", "title": "Ask", "ask": {"question": "Which way?"}}
    for number, first in enumerate((rows("lookup", "a"), question)):
        looked.clear()
        one = start(first)
        name, by = one.agent_version.agent.name, Actor(user=operator)
        other = starts.start_run(name, input={}, title="Another", by=by, token=f"at-once-{number}")
        threads = [threading.Thread(target=work, args=[run]) for run in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(looked) == 2
        runs = models.Run.objects.filter(pk__in=[one.pk, other.pk])
        assert sorted((run.status, run.reason) for run in runs) == [
            ("queued", "crowded"),
            ("waiting", "review"),
        ]
        assert sorted(len(opened(run)) for run in runs) == [0, 1]
    verifier.verify()
