"""What runs may use in a day together: an agent's, and everybody's; limits on single tools; one question for all."""

from __future__ import annotations

import dataclasses
import datetime
import os
import threading
from collections.abc import Callable

import pytest
from django.db import connection
from django.utils import timezone

from runs import lifecycle, measures, models, seed
from runs.engine import accounts, advance, verifier
from runs.transitions import clock_time, clocks, limits, starts, steps
from runs.transitions.actor import Actor
from tests import waiting
from tests.core import tampering
from tests.engine import clockwork
from tests.engine.conftest import answer, go, step
from tests.engine.world import World
from tests.rules.spending import asked, balance, looks, raise_by

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_8_1_parallel_runs_can_not_overspend_together(start: Start) -> None:
    """Eight runs share what all runs may use in a day; together they never use more, whoever claims first."""
    budget = {"steps": 1000}
    runs = [start(*looks(3), budget=budget) for _ in range(8)]
    barrier = threading.Barrier(4)

    def work(mine: list[models.Run]) -> None:
        try:
            barrier.wait(10)
            for run in mine:
                advance.advance(run.pk)
        finally:
            connection.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.conf.settings.CKPTSITE_DAY_BUDGET", {"steps": 11})
        threads = [threading.Thread(target=work, args=(runs[number::4],)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        # Who had to let others go first is due again in a moment.
        waiting.until(lambda: all(_rests(run) for run in runs), within=30)
    used = sum(run.steps for run in models.Run.objects.all())
    day = models.Account.objects.get(root=None, measure="steps")
    assert (day.limit, day.spent, day.advanced, day.over, used) == (11, 11, 0, 0, 11)
    assert accounts.differences() == []
    verifier.verify()


def _rests(run: models.Run) -> bool:
    advance.advance(run.pk)
    run.refresh_from_db()
    return run.status in {lifecycle.Run.WAITING, lifecycle.Run.SUCCEEDED}


def test_8_1_what_others_have_reserved_is_waited_for_not_asked_about(start: Start) -> None:
    """A run that is short only because another one holds the rest asks nobody: it is due again in a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.conf.settings.CKPTSITE_DAY_BUDGET", {"calls": 1})
        holder = start(*looks(1), budget={})
        claim = steps.claim(holder.pk)
        assert claim is not None
        run = go(start(*looks(1), budget={}))
        assert (run.status, run.reason) == ("queued", "budget")
        assert not models.Review.objects.exists()
        steps.later(claim, reason="slice")
        models.Run.objects.filter(pk=run.pk).update(wake_at=run.created_at)
        assert go(run).status == "succeeded"
        assert go(holder).status == "waiting"
        assert asked(holder).content["scope"] == "installation"
    verifier.verify()


def test_8_1_an_agent_has_an_account_a_day(start: Start, operator: models.User) -> None:
    """The agent's account of a day is shared by its runs, and a new day has a new one."""
    run = go(start(*looks(3), budget={}, per_day={"steps": 2}))
    assert asked(run).title == "The limit of 2 turns that this agent may use in a day is reached."
    yesterday = models.Account.objects.get(agent=run.agent_version.agent)
    assert yesterday.day is not None
    models.Account.objects.update(day=yesterday.day - datetime.timedelta(days=1))
    raise_by(run, operator, 1)
    run = go(run)
    assert (run.status, run.steps) == ("waiting", 4)
    assert models.Account.objects.filter(agent=run.agent_version.agent).count() == 2
    assert accounts.differences() == []


def test_8_1_the_version_in_use_says_what_a_day_has_also_for_runs_of_an_older_one(
    start: Start, person: Callable[..., models.User], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What people set goes before it; and what they set right before midnight binds whoever opens the new day."""
    run, other = start(*looks(3), budget={}), start(*looks(2), budget={})
    seed.register(dataclasses.replace(run.agent_version.declared(), per_day={"steps": 2}))
    run = go(run)
    assert run.agent_version.number == 1
    assert asked(run).title == "The limit of 2 turns that this agent may use in a day is reached."
    verifier.verify()
    agent, admin = other.agent_version.agent, person("ada", "admin")
    late = timezone.make_aware(datetime.datetime.combine(timezone.localdate(), datetime.time(23, 59, 59)))
    with monkeypatch.context() as patch:
        patch.setattr(clock_time, "now", lambda: late)
        limits.set_limits(agent.name, {"steps": 1}, reason="Month end.", base=0, by=Actor(user=admin))
    days = models.Account.objects.filter(agent=agent, measure="steps").order_by("day")
    assert [(row.day, row.limit) for row in days] == [
        (timezone.localdate(), 1),
        (timezone.localdate() + datetime.timedelta(days=1), 1),
    ]
    assert go(other).status == "waiting"
    with tampering.unhindered():
        models.Installation.objects.update(declared={})
        with pytest.raises(verifier.Broken, match="are not what the agents in use declare"):
            verifier.verify()


def test_8_1_what_waits_for_a_days_limit_goes_on_the_next_day(start: Start) -> None:
    """Nobody answers: the clock finds that the day is over, and the new day's account is enough. A lineage's is not."""
    run = go(start(*looks(3), budget={}, per_day={"steps": 2}))
    other = go(start(*looks(3), budget={"steps": 2}))
    question = asked(run)
    assert clocks.wake_new_day() == 0
    with clockwork.ahead(hours=25):
        assert clocks.wake_new_day() == 1
        run, other = go(run), go(other)
        assert (run.status, run.steps, other.status) == ("waiting", 4, "waiting")
        assert asked(run).pk != question.pk  # two more, and then this day is used up too
        assert clocks.wake_new_day() == 0
    question.refresh_from_db()
    assert question.status == "superseded"
    assert accounts.differences() == []


def test_8_1_calls_of_one_tool_are_limited(start: Start, operator: models.User) -> None:
    """Of one tool: for the run, its agent's day and everybody's. Whichever is reached asks, and the rest adds up."""
    mail = measures.of_tool("world.allowed")
    sends = [step("allowed", f"mail {number}", id=f"m{number}") for number in range(4)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.conf.settings.CKPTSITE_DAY_BUDGET", {mail: 3})
        run = go(start(*looks(2), *sends, budget={mail: 1, "calls": 100}, per_day={mail: 2}))
        assert (run.status, run.calls, len(World.effects())) == ("waiting", 3, 1)
        assert asked(run).title == "The limit of 1 call of world.allowed of this run is reached."
        raise_by(run, operator, 9)
        run = go(run)
        assert (len(World.effects()), asked(run).content["scope"]) == (2, "agent")
        raise_by(run, operator, 9)
        run = go(run)
        assert (len(World.effects()), asked(run).content["scope"]) == (3, "installation")
        raise_by(run, operator, 9)
        run = go(run)
    assert (run.status, len(World.effects())) == ("succeeded", 4), run.error
    assert balance(run, mail) == (4, 0)
    assert balance(run, "calls") == (6, 0)
    verifier.verify()


def test_8_1_one_question_for_a_days_limit_however_many_runs_reach_it(
    start: Start, operator: models.User
) -> None:
    """The second run waits for the first one's question; after the raise both go on, after a stop the second asks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.conf.settings.CKPTSITE_DAY_BUDGET", {"steps": 4})
        first, second, third = (start(*looks(3), budget={}) for _ in range(3))
        first, second, third = go(first), go(second), go(third)
        assert [(run.status, run.reason) for run in (first, second, third)] == [
            ("waiting", "review"), ("waiting", "others"), ("waiting", "others")]  # fmt: skip
        question = models.Review.objects.get(status="open")
        assert (question.run, second.budget_review) == (first, question)
        assert clocks.wake_stranded() == 0
        verifier.verify()
        raise_by(first, operator, 3)
        second, third = go(second), go(third)
        first = go(first)
        assert sum(run.steps for run in (first, second, third)) == 7
        question = models.Review.objects.get(status="open")
        answer(question, operator, "stop", reason="Enough.")
        assert go(question.run).status == "cancelled"
        others = [go(run) for run in (first, second, third) if run != question.run]
        assert sorted(run.reason for run in others) == ["others", "review"]
        assert models.Review.objects.get(status="open").run in others
    assert accounts.differences() == []
    verifier.verify()


def test_8_1_two_processes_can_not_overspend_an_agents_day(
    start: Start, person: Callable[..., models.User]
) -> None:
    """Two processes advance runs of one agent at once, under a limit that somebody sets: it holds to the turn."""
    admin = person("ada", "admin")
    first = start(*looks(3), budget={"steps": 1000})
    agent = first.agent_version.agent
    runs = [first]
    for number in range(5):
        by, token = Actor(user=first.created_by), f"more-{number}"
        runs.append(starts.start_run(agent.name, input={}, title="More", by=by, token=token))
    limits.set_limits(agent.name, {"steps": 9}, reason="A test.", base=0, by=Actor(user=admin))
    connection.close()
    pids = []
    for number in range(2):
        pid = os.fork()
        if pid == 0:
            try:
                for run in [*runs[number:], *runs[:number]] * 3:
                    advance.advance(run.pk)
            finally:
                os._exit(0)
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0]
    waiting.until(lambda: all(_rests(run) for run in runs), within=30)
    row = models.Account.objects.get(agent=agent, measure="steps")
    assert (row.limit, row.spent, row.advanced, row.over) == (9, 9, 0, 0)
    assert sum(run.steps for run in models.Run.objects.all()) == 9
    assert models.Review.objects.filter(status="open", kind="budget").count() == 1
    verifier.verify()
