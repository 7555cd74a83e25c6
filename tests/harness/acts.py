"""What a hand can be told to do: work on a run, be the people, do one thing from outside, start a run, judge it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any
from unittest import mock

from django.db import connection

from runs import hints, models
from runs.engine import acting, advance, clock, outside, reading
from runs.transitions import anchors, clocks, starts, tenures
from tests.engine import lock_order, locks
from tests.harness import bots, family, oracle
from tests.harness import plan as plans
from tests.harness.hands import Command
from tests.harness.world import PACE, World

AGENT = "harness"
BELOW = "harness-below"
"""The agent that work is handed to."""
LOCAL = "harness-local"
"""The agent whose provider answers from what is there."""
BACKOFF = 2.5 * PACE


class Deaf:
    """A broker that takes every message and delivers none: what is due is found in the database alone."""

    def send_task(self, *_: object, **__: object) -> None:
        """Lose the message."""

    def publish(self, *_: object) -> None:
        """Lose the hint."""


def quiet() -> None:
    """Cut this process off from brokers, and shorten what waits by a constant of the engine."""
    logging.disable(logging.CRITICAL)
    deaf = Deaf()
    mock.patch.object(hints, "current_app", deaf).start()
    mock.patch.object(hints, "_client", return_value=deaf).start()
    for retrying in (acting, reading):
        mock.patch.object(retrying, "BACKOFF", BACKOFF).start()
    # Each hand is a machine of its own: nobody else's clock ends it when it stands still.
    mock.patch.object(tenures, "_known", lambda pid: (f"machine {pid}", "")).start()
    lock_order.everywhere()
    outside.watch(locks.none_held)


def commands(world: World) -> Mapping[str, Command]:
    """Return everything that can be ordered, by name."""

    def people(run: int, plan: dict[str, Any], who: str, turn: int) -> dict[str, Any]:
        crowd = bots.Bots(plans.read(plan), world, who=who, turn=turn)
        clocks.expire_reviews()
        pause = crowd.answer_all(models.Run.objects.get(pk=run))
        return {"pause": pause, "counts": crowd.counts}

    def age(run: int, names: list[str]) -> None:
        """Let a day pass for every key of the run: the world forgets it, and its first send was yesterday."""
        for name in names:
            world.forget(name)
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE runs_occurrence SET first_sent_at = first_sent_at - interval '2 days' WHERE root_id ="
                " (SELECT root_id FROM runs_run WHERE id = %s)",
                [run],
            )

    def judge(run: int, names: list[str], below: list[str], notes: dict[str, Any]) -> dict[str, Any]:
        row = models.Run.objects.get(pk=run)
        violations, counts = oracle.judge(row, world.facts(names), notes), Counter(oracle.doubts(row))
        for child in family.children(row):
            violations += oracle.judge(child, world.facts(below), notes)
            counts.update(oracle.doubts(child))
        return {"violations": violations + family.judge(row), "counts": counts}

    return {"work": _work, "people": people, "act": _act, "start": _start, "age": age, "judge": judge}


def _work(run: int, tick: bool = True) -> dict[str, Any]:
    """Be the clock once, if it is its turn, and a worker once."""
    if tick:
        clock.tick()
        clock.tidy()
        anchors.anchor()
    return {"claimed": advance.advance(run)}


def _act(run: int, what: str, dice: str) -> dict[str, Any]:
    """Do one thing; return whether it was taken, and how many intents were committed when that was known."""
    row = models.Run.objects.get(pk=run)
    if what in {"redrive", "fork", "separate"}:
        taken = bots.branch(row, what, dice) != run
    else:
        taken = bots.act(row, what)
    return {
        "taken": taken,
        "run": run,
        "intents": family.intents([run]),
        "below": family.intents(family.below(run)),
    }


def _start(given: dict[str, Any], token: str) -> int:
    """Return the run with this input; the same token again gives the same run."""
    by = bots.actor(bots.OPERATOR)
    agent = LOCAL if given.get("local") else AGENT
    return starts.start_run(agent, input=given, title=token, by=by, token=token).pk
