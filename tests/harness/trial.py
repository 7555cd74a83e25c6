"""One trial: a run, its workers that die as planned, the people who answer, until it has ended."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from django.db import connections

from runs import lifecycle, models, points, seed
from runs.engine import advance
from runs.providers import declared
from runs.transitions import clock_time, clocks, starts
from runs.transitions.actor import Actor
from tests.harness.bots import Bots
from tests.harness.plan import Death, Plan
from tests.harness.world import LATE_SECONDS, World

AGENT = "harness"
WITHIN = 30.0
STALL_SECONDS = 0.9
"""How long a stalled worker stands still: longer than any lease of the harness."""


@dataclass
class Outcome:
    """What a trial showed."""

    plan: Plan
    run: models.Run
    names: list[str]
    kills: int = 0
    stalls: int = 0
    lives: int = 0
    seconds: float = 0.0
    bots: Bots | None = None
    passed: set[str] = field(default_factory=set)
    stuck: bool = False


def agent() -> None:
    """Register the agent whose steps come from its input: a read and three effects, all asked at once."""
    steps = [
        {"id": "read", "title": "Read", "tool": "harness.read", "with": {"name": "${input.name}"}},
        *(
            {
                "id": f"{kind}s",
                "title": f"The {kind} ones",
                "each": f"input.{kind}",
                "as": "row",
                "key": "row",
                "row_title": "Do ${row}",
                "tool": f"harness.{kind}",
                "with": {"name": "${row}"},
                "required": False,
            }
            for kind in ("unprotected", "lookup", "idempotent")
        ),
        {"id": "end", "title": "End", "finish": {"summary": "Done."}},
    ]
    seed.register(
        declared.Agent(
            name=AGENT,
            title="Harness",
            provider="playbook",
            definition={"steps": steps},
            tools=("harness.read", "harness.unprotected", "harness.lookup", "harness.idempotent"),
            input_schema={"type": "object", "properties": {}},
        )
    )


def play(plan: Plan, *, world: World, reviewer: models.User, operator: models.User, tag: str) -> Outcome:
    """Return what came of a plan. Workers are real processes, killed or stopped at the points that the plan names."""
    began = time.monotonic()
    rows: dict[str, list[str]] = {"unprotected": [], "lookup": [], "idempotent": []}
    for index, effect in enumerate(plan.effects):
        name = f"{tag}-{plan.seed}-{index}"
        rows[effect.protection].append(name)
        world.plan(name, list(effect.faults))
    names = [name for group in rows.values() for name in group]
    run = starts.start_run(
        AGENT, input={"name": "it", **rows}, title=tag, by=Actor(user=operator), token=f"{tag}-{plan.seed}"
    )
    bots = Bots(plan=plan, world=world, reviewer=reviewer, operator=operator)
    outcome = Outcome(plan=plan, run=run, names=names, bots=bots)
    deaths = list(plan.deaths)
    while not _closed(run):
        if time.monotonic() - began > WITHIN:
            outcome.stuck = True
            break
        _turn(run, outcome, bots, deaths)
    time.sleep(LATE_SECONDS)
    outcome.seconds = time.monotonic() - began
    return outcome


def _closed(run: models.Run) -> bool:
    run.refresh_from_db()
    if run.status in lifecycle.RUN_FINAL:
        return True
    return (
        run.status == lifecycle.Run.FAILED
        and not models.Review.objects.filter(run=run, status=lifecycle.Review.OPEN).exists()
    )


def _turn(run: models.Run, outcome: Outcome, bots: Bots, deaths: list[Death]) -> None:
    """Let people answer what is open, then let a worker live, once it is due."""
    pause = 0.0
    if run.status in {lifecycle.Run.WAITING, lifecycle.Run.FAILED}:
        pause = bots.answer_all(run)
    clocks.wake_stranded()
    run.refresh_from_db()
    now = clock_time.now()
    if run.status == lifecycle.Run.QUEUED and run.wake_at is not None:
        pause = (run.wake_at - now).total_seconds()
    elif run.status == lifecycle.Run.RUNNING and run.lease_until is not None:
        pause = (run.lease_until - now).total_seconds() + 0.01
    elif run.status == lifecycle.Run.WAITING:
        pause = max(pause, 0.02)
    if pause > 0:
        time.sleep(min(pause, 1.0))
        return
    if run.status in {lifecycle.Run.QUEUED, lifecycle.Run.RUNNING}:
        _live(run.pk, outcome, deaths.pop(0) if deaths else None)


def _live(run_id: int, outcome: Outcome, death: Death | None) -> None:
    """Let one worker live: a forked process that advances the run, and dies or stands still as planned."""
    child = _spawn(run_id, outcome, death)
    _, status = os.waitpid(child, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        outcome.stalls += 1
        rival = _rival(run_id, outcome)
        os.kill(child, signal.SIGCONT)  # the two of them now work side by side
        for process in (child, rival):
            if process is not None:
                os.waitpid(process, 0)
    elif os.WIFSIGNALED(status):
        outcome.kills += 1


def _spawn(run_id: int, outcome: Outcome, death: Death | None) -> int:
    connections.close_all()
    outcome.lives += 1
    child = os.fork()
    if child == 0:
        code = 1
        try:
            points.arm(_dying(death))
            advance.advance(run_id)
            code = 0
        finally:
            os._exit(code)
    return child


def _rival(run_id: int, outcome: Outcome) -> int | None:
    """Return another worker that takes the run over once the one that stands still is beyond its lease."""
    end = time.monotonic() + STALL_SECONDS
    while time.monotonic() < end:
        run = models.Run.objects.get(pk=run_id)
        if run.status != lifecycle.Run.RUNNING or run.lease_until is None:
            return None
        pause = (run.lease_until - clock_time.now()).total_seconds() + 0.01
        if pause <= 0:
            return _spawn(run_id, outcome, None)
        time.sleep(min(pause, 0.1))
    return None


def _dying(death: Death | None) -> Callable[[str], None] | None:
    """Return what happens at each point, for this death."""
    if death is None:
        return None
    passed = {"count": 0}

    def reach(name: str) -> None:
        if death.point and name != death.point:
            return
        passed["count"] += 1
        if passed["count"] == death.at:
            os.kill(os.getpid(), signal.SIGKILL if death.how == "kill" else signal.SIGSTOP)

    return reach
