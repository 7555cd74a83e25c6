"""One product in a process of its own: `python -m tests.bench.sides NAME --url URL --steps N ...`; prints JSON.

The first process begins a run and leaves it waiting for its last answer, and ends without a word, as a killed one
does. With `--run` the second one gives that answer, then reads and forks the run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.bench.sides import SIDES, common


def main(arguments: Sequence[str]) -> None:
    """Measure one half, print it, and end this process at once, whatever still runs in it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.sides", description=__doc__)
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("--url", required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--asks", type=int, default=5)
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=120.0, help="no further step begins after so many")
    parser.add_argument("--run", help="go on with this run")
    options = parser.parse_args(arguments)
    side = SIDES[options.side][0](options.url)
    if options.run:
        found = go_on(side, options.run, steps=options.steps, tries=options.tries)
    else:
        found = begin(side, common.Limit(options.steps, asks=options.asks, seconds=options.seconds))
    sys.stdout.write(json.dumps(found))
    sys.stdout.flush()
    os._exit(0)


def begin(side: common.Side, limit: common.Limit) -> dict[str, Any]:
    """Return what the steps took one by one, and each answer until its effect began; one question is left open."""
    side.open()
    moments = side.moments
    run = side.start(limit)
    begun = list(moments.begun)
    answered = []
    for _ in range(limit.asks - 1):
        time.sleep(common.PAUSE)
        before = time.perf_counter()
        side.answer(run)
        answered.append(moments.begun[-1] - before)
    return {
        "run": run,
        "reached": len(begun),
        "steps": [later - earlier for earlier, later in itertools.pairwise(begun)],
        "answers": answered,
    }


def go_on(side: common.Side, run: str, *, steps: int, tries: int) -> dict[str, Any]:
    """Return what the last answer took in this process, which knows nothing, and what reading and forking take."""
    opened = side.answer_first(run)
    restarted = side.moments.begun[-1] - opened
    read = [_seconds(lambda: _all(side.read(run), steps)) for _ in range(tries)]
    forked = []
    for _ in range(tries):
        before = time.perf_counter()
        side.fork(run, steps // 2)
        forked.append(side.moments.asked[-1] - before)
    return {"restarted": restarted, "read": read, "forked": forked}


def _seconds(act: Callable[[], None]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def _all(found: int, steps: int) -> None:
    if found < steps:
        raise RuntimeError(f"The state holds {found} results of {steps}.")


if __name__ == "__main__":
    main(sys.argv[1:])
