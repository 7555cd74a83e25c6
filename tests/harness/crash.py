"""`python -m tests.harness.crash --seeds N --start S --json`: seeded crashes of the real engine, judged from outside.

Prints how many processes were killed and stalled, how many effects happened, how many were doubled, lost or untrue,
how many were asked about, and the seconds. Exit code 1 on any violation, or when too few effects happened to mean
anything. 0 violations in N seeds bounds the rate below 3/N (95 %).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from typing import Any

from tests.harness import controlling, playing
from tests.harness import plan as plans
from tests.harness import site as sites

KINDS = ("doubled", "lost", "untrue", "unreleased")


def main(argv: list[str] | None = None) -> int:
    """Run what is asked for, print the figures, return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.harness.crash", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--start", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON on one line")
    parser.add_argument("--jobs", type=int, default=playing.JOBS, help="trials at the same time")
    parser.add_argument("--stages", type=int, default=playing.STAGES, help="processes that direct trials")
    parser.add_argument("--loud", action="store_true", help="say on stderr how each trial ended")
    parser.add_argument("--control", help="build the engine wrongly in this way, or in 'all' ways in turn")
    parser.add_argument(
        "--table",
        nargs="?",
        const="",
        help="each crash point instead of seeds, or those whose name fits this pattern",
    )
    parser.add_argument(
        "--packed", action="store_true", help="the table in fewer trials: many deaths in each run"
    )
    options = parser.parse_args(argv)
    with sites.standing() as site:
        _rehearse(site)
        figures = _figures(options, site)
    sys.stdout.write(json.dumps(figures, indent=None if options.json else 2) + "\n")
    return int(figures["exit"])


def _rehearse(site: sites.Site) -> None:
    from tests.harness import rehearsal

    rehearsal.rehearse(site)


def _figures(options: argparse.Namespace, site: sites.Site) -> dict[str, Any]:
    began = time.monotonic()
    if options.control is not None:
        names = [] if options.control == "all" else [options.control]
        figures = controlling.controls(names, site=site, loud=options.loud)
    elif options.table is not None:
        figures = controlling.table(
            options.table, site=site, jobs=options.jobs, packed=options.packed, loud=options.loud
        )
    else:
        return seeded(options, site)
    return figures | {"seconds": round(time.monotonic() - began, 1)}


def seeded(options: argparse.Namespace, site: sites.Site) -> dict[str, Any]:
    """Return the figures of all seeds."""
    began = time.monotonic()
    played = playing.play(
        [plans.make(seed) for seed in range(options.start, options.start + options.seeds)],
        site=site,
        jobs=options.jobs,
        stages=options.stages,
        loud=options.loud,
    )
    return summary(played, start=options.start, seconds=time.monotonic() - began)


def summary(played: playing.Played, *, start: int, seconds: float) -> dict[str, Any]:
    """Return the figures of what was played."""
    counts: Counter[str] = Counter()
    for outcome in played.outcomes:
        counts.update(outcome.counts)
    violations, seeds = played.violations(), len(played.outcomes)
    recoveries = sorted(found for outcome in played.outcomes for found in outcome.recoveries)
    too_few = counts["effects"] < seeds / 2
    bound = "" if violations else f" bounds the rate below 3/{seeds} = {3 / seeds:.4g} (95 %)"
    return {
        "seeds": seeds,
        "start": start,
        "kills": counts["died"],
        "stalls": counts["stalled"],
        "interruptions": counts["asks"],
        "effects": counts["effects"],
        **{kind: sum(f"{kind}:" in line for line in violations) for kind in KINDS},
        "in_doubt": {name: counts[name] for name in ("happened", "had_not", "unknown", "too_early_refused")},
        "recovery_p95": round(recoveries[int(len(recoveries) * 0.95)], 2) if recoveries else 0.0,
        "violations": violations[:20],
        "too_few_effects": too_few,
        "seconds": round(seconds, 1),
        "trials_per_second": round(seeds / seconds, 2),
        "meaning": f"{len(violations)} of {seeds}{bound}",
        "exit": 1 if violations or too_few else 0,
    }


if __name__ == "__main__":
    sys.exit(main())
