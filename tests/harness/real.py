"""`python -m tests.harness.real --kills N [--json]`: a real site under real kills, judged from outside.

PostgreSQL that keeps its commits, Valkey, a Celery worker with a pool, the clock, and a world in a process of its own;
runs in flight, people who decide, and a nemesis. Prints kills by kind, effects, doubled, lost, in doubt, how fast a
run was taken over again, and the seconds. Exit code 1 on any violation, or when too few effects happened to mean
anything.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.harness import grounds

if TYPE_CHECKING:
    from runs import models
    from tests.harness import nemesis, world

IN_FLIGHT = 8
PATIENCE = 180.0
"""So long every run may take to end once nobody strikes any more."""
STOPPED = 0.005
"""How likely a look at a run ends in a stop."""
SLOW = 60.0
"""A run that nobody took over for so long counts as lost."""


@dataclass
class Watch:
    """How long runs lay still after a strike: until their fence moved again, or they rested or ended."""

    lying: dict[int, tuple[int, float]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)

    def struck(self) -> None:
        """Note the runs that were being worked on."""
        from runs import models

        now = time.monotonic()
        for pk, fence in models.Run.objects.filter(status="running").values_list("pk", "fence"):
            self.lying.setdefault(pk, (fence, now))

    def look(self) -> None:
        """See who goes on again."""
        from runs import models

        now = time.monotonic()
        for pk, fence, status in models.Run.objects.filter(pk__in=self.lying).values_list(
            "pk", "fence", "status"
        ):
            if fence != self.lying[pk][0] or status != "running":
                self.seconds.append(now - self.lying.pop(pk)[1])

    def figures(self) -> dict[str, float]:
        """Return the middle and the slowest."""
        ordered = sorted(self.seconds) or [0.0]
        return {
            "p50": round(statistics.median(ordered), 2),
            "p95": round(ordered[int(0.95 * (len(ordered) - 1))], 2),
            "longest": round(ordered[-1], 2),
        }


@dataclass
class Trial:
    """The runs of one session, and the people who answer them."""

    site: nemesis.Site
    outside: world.World
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    names: dict[int, list[str]] = field(default_factory=dict)
    watch: Watch = field(default_factory=Watch)
    numbers: Any = field(default_factory=itertools.count)

    def refill(self) -> None:
        """Keep so many runs in flight."""
        from runs import models

        open_now = models.Run.objects.filter(pk__in=self.names).exclude(
            status__in=("succeeded", "failed", "cancelled")
        )
        for _ in range(IN_FLIGHT - open_now.count()):
            self.start()

    def start(self) -> None:
        """Start a run of four effects, whose requests the world treats as the dice say."""
        from runs.transitions import starts
        from tests.harness import acts, bots, plan, world

        number = next(self.numbers)
        rows: dict[str, list[str]] = {kind: [] for kind in plan.PROTECTIONS}
        for index in range(4):
            name = f"real-{number}-{index}"
            rows[self.rng.choice(plan.PROTECTIONS)].append(name)
            faults = self.rng.choices(world.FAULTS, weights=(12, 1, 1, 1, 1, 1, 1, 0), k=3)
            self.outside.plan({name: faults})
        given, by = {"name": "it", **rows}, bots.actor(bots.OPERATOR)
        run = starts.start_run(acts.AGENT, input=given, title="real", by=by, token=f"real-{number}")
        self.names[run.pk] = [name for group in rows.values() for name in group]

    def turn(self) -> None:
        """Let people answer what is open; whoever was restarted meanwhile is met again in the next turn."""
        from django.db import DatabaseError, connection

        try:
            for run in self.asking():
                self.answer(run)
            self.watch.look()
        except DatabaseError:
            connection.close()
        time.sleep(0.02)

    def answer(self, run: models.Run) -> None:
        """Be the people who look at this run."""
        from tests.harness import bots, plan

        habits = plan.Plan(seed=run.pk, tag="real", effects=(), people=plan.RESTLESS)
        crowd = bots.Bots(habits, self.outside, who=bots.REVIEWERS[0], turn=next(self.numbers))
        if self.rng.random() < STOPPED:
            bots.act(run, "stop")
        crowd.answer_all(run)
        self.counts.update(crowd.counts)

    def asking(self) -> list[models.Run]:
        """Return the runs that wait for people."""
        from runs import models

        asked = models.Review.objects.filter(status="open", run__in=self.names).values_list(
            "run_id", flat=True
        )
        return list(models.Run.objects.filter(pk__in=asked))

    def over(self) -> bool:
        """Return whether every run has ended."""
        from runs import models

        left = models.Run.objects.filter(pk__in=self.names).exclude(status__in=("succeeded", "cancelled"))
        return not any(run.status != "failed" or run in self.asking() for run in left)

    def finish(self) -> list[str]:
        """Return which runs had not ended after a time in which nobody struck."""
        end = time.monotonic() + PATIENCE
        while not self.over() and time.monotonic() < end:
            self.turn()
        return [f"lost: {row}" for row in self._open()] if not self.over() else []

    def _open(self) -> list[tuple[Any, ...]]:
        from runs import models

        rows = models.Run.objects.filter(pk__in=self.names).exclude(status__in=("succeeded", "cancelled"))
        return list(rows.values_list("pk", "status", "reason", "error"))


def main(argv: list[str] | None = None) -> int:
    """Strike as often as asked, print the figures, return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.harness.real", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON in one line")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ckptsite-real-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        figures = grounds.on_a_site(
            Path(name), lambda site, outside, inside: _strike(site, outside, inside, options)
        )
    sys.stdout.write(json.dumps(figures, indent=None if options.json else 2) + "\n")
    return int(figures["exit"])


def _strike(
    site: nemesis.Site, outside: world.World, inside: Path, options: argparse.Namespace
) -> dict[str, Any]:
    from django.db import DatabaseError, connection

    from tests.harness import nemesis

    grounds.begin(site)
    site.start("worker", "clock")
    rng = random.Random(options.seed)
    trial = Trial(site, outside, rng)
    foe = nemesis.Nemesis(site, rng, inside)
    began = time.monotonic()
    for kind in foe.order(options.kills):
        until = time.monotonic() + rng.uniform(0.3, 1.5)
        with contextlib.suppress(DatabaseError):
            trial.refill()
        while time.monotonic() < until:
            trial.turn()
        with contextlib.suppress(DatabaseError):
            trial.watch.struck()
        try:
            foe.strike(kind)
        except DatabaseError:
            connection.close()
    left = trial.finish()
    foe.rest()
    return _figures(trial, foe, left, options, seconds=time.monotonic() - began)


def _figures(
    trial: Trial, foe: nemesis.Nemesis, left: list[str], options: argparse.Namespace, *, seconds: float
) -> dict[str, Any]:
    from runs import models
    from tests.harness import oracle, world

    time.sleep(world.LATE_SECONDS)
    violations = [*left, *foe.stubborn, *oracle.chains()]
    counts, recovery = trial.counts, trial.watch.figures()
    notes: dict[str, Any] = {"stalled": None, "acks": [], "too_early": 0}
    for run in models.Run.objects.filter(pk__in=trial.names).order_by("pk"):
        facts = trial.outside.facts(trial.names[run.pk])
        violations += [f"run {run.pk}: {sentence}" for sentence in oracle.judge(run, facts, notes)]
        counts.update(oracle.doubts(run))
    if counts["too_early_taken"]:
        violations.append("an answer before the horizon was taken")
    if recovery["longest"] > SLOW:
        violations.append(f"slow: a run was taken over only after {recovery['longest']} s")
    effects = sum(trial.outside.count(name) for names in trial.names.values() for name in names)
    too_few = effects < options.kills
    kinds = ("doubled", "lost", "untrue", "unreleased")
    return {
        "kills": dict(foe.struck),
        "total": sum(foe.struck.values()),
        "inside_an_effect": foe.in_effect,
        "runs": len(trial.names),
        "effects": effects,
        **{kind: sum(f"{kind}:" in sentence for sentence in violations) for kind in kinds},
        "in_doubt": {
            "happened": counts["happened"],
            "had_not": counts["had_not"],
            "too_early_refused": counts["too_early_refused"],
        },
        "recovery_seconds": recovery,
        "violations": violations[:20],
        "too_few_effects": too_few,
        "seconds": round(seconds, 1),
        "exit": 1 if violations or too_few else 0,
    }


if __name__ == "__main__":
    sys.exit(main())
