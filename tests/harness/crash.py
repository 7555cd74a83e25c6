"""`python -m tests.harness.crash --seeds N --start S --json`: seeded crashes of the real engine, judged from outside.

Prints how many workers were killed and stalled, how many effects happened, how many were doubled, lost or untrue,
how many were asked about, and the seconds. Exit code 1 on any violation, or when too few effects happened to mean
anything. 0 violations in N seeds bounds the rate below 3/N (95 %).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ckptsite.services import postgres
from tests import servers

TIMES = {
    "CKPTSITE_LEASE": "0.5",
    "CKPTSITE_HEARTBEAT": "0.1",
    "CKPTSITE_MARGIN": "0.1",
    "CKPTSITE_SLICE": "5",
    "CKPTSITE_READ_TIMEOUT": "2",
    "CKPTSITE_EFFECT_TIMEOUT": "0.4",
    "CKPTSITE_MODEL_TIMEOUT": "2",
    "CKPTSITE_SETTLE": "0.3",
    "CKPTSITE_POISON": "6",
    "LOG_LEVEL": "ERROR",
}


def main(argv: list[str] | None = None) -> int:
    """Run the seeds, print the figures, return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.harness.crash", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--start", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--jobs", type=int, default=4, help="trials at the same time")
    parser.add_argument("--control", default="", help="break the engine on purpose; the oracle must notice")
    options = parser.parse_args(argv)
    both = servers.Servers()
    both.start()
    try:
        servers.enter(worker="")
        os.environ.update(TIMES, DJANGO_SETTINGS_MODULE="ckptsite.settings")
        postgres.make_database(os.environ["DATABASE_URL"])
        figures = run(options)
    finally:
        both.stop()
    sys.stdout.write(json.dumps(figures, indent=None if options.json else 2) + "\n")
    return int(figures["exit"])


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of all seeds, on servers that stand."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connections

    call_command("migrate", verbosity=0)
    from tests.harness import people, world

    folder = Path(tempfile.mkdtemp(prefix="ckptsite-harness-"))
    outside = world.World(folder)
    os.environ["CKPTSITE_HARNESS_WORLD"] = outside.path
    connections.close_all()
    outside.start()
    began = time.monotonic()
    try:
        people.make()
        connections.close_all()
        seeds = list(range(options.start, options.start + options.seeds))
        jobs = [(seeds[index :: options.jobs], str(folder), options.control) for index in range(options.jobs)]
        with ProcessPoolExecutor(options.jobs, mp_context=get_context("fork")) as pool:
            parts = list(pool.map(_seeds, jobs))
        return _figures(parts, options, seconds=time.monotonic() - began)
    finally:
        outside.stop()


def _seeds(job: tuple[list[int], str, str]) -> dict[str, Any]:
    """Play one share of the seeds in this process."""
    from tests.harness import controls, oracle, people, plan, trial, world

    seeds, folder, control = job
    outside = world.World(Path(folder))
    reviewer, operator = people.found()
    total: dict[str, Any] = {
        "kills": 0, "stalls": 0, "lives": 0, "effects": 0, "happened": 0, "absent": 0, "too_early": 0, "violations": [],
    }  # fmt: skip
    with controls.broken(control):
        for seed in seeds:
            outcome = trial.play(
                plan.make(seed), world=outside, reviewer=reviewer, operator=operator, tag=f"c{control}"
            )
            found = oracle.judge(outcome.run, outcome.names, outside)
            bots = outcome.bots
            assert bots is not None
            if outcome.stuck:
                found.append(f"run {outcome.run.pk}: lost: it did not end within {trial.WITHIN} s")
            if bots.too_early_accepted:
                found.append(f"run {outcome.run.pk}: an answer before the horizon was taken")
            total["violations"] += [f"seed {seed}: {sentence}" for sentence in found]
            total["kills"] += outcome.kills
            total["stalls"] += outcome.stalls
            total["lives"] += outcome.lives
            total["effects"] += sum(outside.count(name) for name in outcome.names)
            total["happened"] += bots.happened
            total["absent"] += bots.absent
            total["too_early"] += bots.too_early_refused
    return total


def _figures(parts: list[dict[str, Any]], options: argparse.Namespace, *, seconds: float) -> dict[str, Any]:
    from tests.harness import oracle

    violations = [sentence for part in parts for sentence in part["violations"]]
    violations += [f"verifier: {sentence}" for sentence in oracle.chains()]
    effects = sum(part["effects"] for part in parts)
    too_few = effects < options.seeds
    kinds = ("doubled", "lost", "untrue", "unreleased")
    return {
        "seeds": options.seeds,
        "start": options.start,
        "control": options.control,
        **{name: sum(part[name] for part in parts) for name in ("kills", "stalls", "lives")},
        "effects": effects,
        **{kind: sum(f"{kind}:" in sentence for sentence in violations) for kind in kinds},
        "in_doubt": {
            "happened": sum(part["happened"] for part in parts),
            "had_not": sum(part["absent"] for part in parts),
            "too_early_refused": sum(part["too_early"] for part in parts),
        },
        "violations": violations[:20],
        "too_few_effects": too_few,
        "seconds": round(seconds, 1),
        "exit": 1 if violations or too_few else 0,
    }


if __name__ == "__main__":
    sys.exit(main())
