"""What runs cost that wait for people: `python -m tests.bench.idle [--waiting 5000] [--json] [--quick]`.

Starts a PostgreSQL of its own that keeps every commit, and looks at it with no run waiting and then with so many that
each have stopped at a question: a sweep of the clock and an idle worker in this process (statements, time); a real
worker and clock that have nothing to do (their processor time, the server's transactions); and how long a new run
waits until that worker has claimed it. Medians and ranges, each beside its bar; exit code 1 if a bar is missed.
`--quick` is short, once, and exits with 0.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckptsite.services import folder as folders
from ckptsite.services import postgres
from tests import waiting
from tests.bench import bars, stage

WAITING = 5000
OF_AN_AGENT, SETTLES = 250, 180.0
LEAST_MS = 3.0
"""What grows by less isn't told from noise."""
_TICK = os.sysconf("SC_CLK_TCK")
_COMMITS = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is measured."""

    repeats: int
    seconds: float
    claims: int


FULL = Sizes(repeats=3, seconds=20.0, claims=40)
QUICK = Sizes(repeats=1, seconds=2.0, claims=5)

Found = dict[str, list[float]]


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit code whether every bar is met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.idle", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--waiting", type=int, default=WAITING, help="how many runs wait")
    parser.add_argument(
        "--quick", action="store_true", help="a short look; the exit code says nothing of bars"
    )
    options = parser.parse_args(arguments)
    sizes = QUICK if options.quick else FULL
    with stage.standing() as folder:
        shape = stage.machine()
        _say("no run waiting")
        without = look(folder, sizes)
        _say(f"{options.waiting} runs come to a question each")
        let_wait(options.waiting)
        _say("beside them")
        beside = look(folder, sizes)
    figures = bars.judged(compared(without, beside))
    report({"machine": shape, "waiting": options.waiting, "figures": figures}, as_json=options.json)
    return 0 if options.quick or all(figure["ok"] for figure in figures.values()) else 1


def look(folder: folders.Folder, sizes: Sizes) -> Found:
    """Return what is measured now: in this process, and of a worker and a clock with nothing to do."""
    from runs.engine import worker
    from tests.bench import latency, recordings, together, tools

    recordings.start(recordings.singles(1, tool=tools.Look), agent="bench-new")
    worker.drain(until_idle=False)  # the newest run, which an idle worker looks at, has ended
    found: Found = {"statements": [], "sweep": [], "cpu": [], "commits": [], "claim": []}
    for _ in range(sizes.repeats):
        rest = together.at_rest()
        found["statements"].append(rest.statements)
        found["sweep"].append(rest.milliseconds)
    with latency.workers(folder, clock=True) as processes:
        claimed(3)  # the worker has read what it reads once
        _settled(folder.database_url, processes)
        for _ in range(sizes.repeats):
            cpu, commits = at_leisure(folder.database_url, processes, sizes.seconds)
            found["cpu"].append(cpu)
            found["commits"].append(commits)
            found["claim"].append(statistics.median(claimed(sizes.claims)))
    return found


def let_wait(count: int) -> None:
    """Let this many runs stop before an effect that a person must release; no agent may ask as many questions."""
    from runs import lifecycle, models
    from runs.engine import advance, worker
    from tests.bench import recordings, tools

    replies = recordings.singles(1, tool=tools.Send)
    runs = [
        recordings.start(replies, agent=f"bench-waiting-{number // OF_AN_AGENT}").pk
        for number in range(count)
    ]
    for run_id in runs:
        advance.advance(run_id)
    worker.drain(until_idle=False)
    asked = models.Run.objects.filter(pk__in=runs, status=lifecycle.Run.WAITING)
    assert asked.count() == count, "not every run waits"


def at_leisure(url: str, processes: Sequence[int], seconds: float) -> tuple[float, float]:
    """Return what these processes and all below them use of one core, in percent, and the transactions a second."""
    before, began = (_cpu(processes), _commits(url)), time.monotonic()
    time.sleep(seconds)  # what is measured is time that passes
    after, passed = (_cpu(processes), _commits(url)), time.monotonic() - began
    return 100 * (after[0] - before[0]) / passed, (after[1] - before[1]) / passed


def _settled(url: str, processes: Sequence[int]) -> None:
    """Wait until what is done once is done: people are told of their questions, words are made findable."""
    end, before = time.monotonic() + SETTLES, float("inf")
    while time.monotonic() < end:
        _, commits = at_leisure(url, processes, 5.0)
        if commits > 0.9 * before:
            return
        before = commits


def claimed(count: int) -> list[float]:
    """Return the milliseconds from the start of each of so many runs, one by one, until a worker had claimed it."""
    from runs import lifecycle, models
    from tests.bench import recordings, tools

    found = []
    for _ in range(count):
        run = recordings.start(recordings.singles(1, tool=tools.Look), agent="bench-new")
        ended = models.Run.objects.filter(pk=run.pk, status=lifecycle.Run.SUCCEEDED)
        row = waiting.until(ended.first, within=60, what="a new run has ended")
        assert row is not None
        assert row.claimed_at is not None
        found.append(1000 * (row.claimed_at - row.created_at).total_seconds())
    return found


def compared(without: Found, beside: Found) -> Found:
    """Return the figures that bars stand beside: of two repeats that belong together what was added, or the ratio."""

    def added(name: str) -> list[float]:
        return [there - here for here, there in zip(without[name], beside[name], strict=True)]

    def ratio(name: str) -> list[float]:
        pairs = zip(without[name], beside[name], strict=True)
        return [there / here if there - here > LEAST_MS else min(1.0, there / here) for here, there in pairs]

    return {
        "idle_statements": added("statements"),
        "idle_sweep": ratio("sweep"),
        "idle_sweep_without": without["sweep"],
        "idle_sweep_with": beside["sweep"],
        "idle_cpu": added("cpu"),
        "idle_cpu_without": without["cpu"],
        "idle_cpu_with": beside["cpu"],
        "idle_commits": added("commits"),
        "idle_claim": ratio("claim"),
        "idle_claim_without": without["claim"],
        "idle_claim_with": beside["claim"],
    }


def _cpu(processes: Sequence[int]) -> float:
    """Return the processor seconds of these processes and all below them, those that have ended included."""
    total, left = 0, list(processes)
    while left:
        place = Path(f"/proc/{left.pop()}")
        fields = (place / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        total += sum(int(field) for field in fields[11:15])
        for task in (place / "task").iterdir():
            left += [int(word) for word in (task / "children").read_text().split()]
    return total / _TICK


def _commits(url: str) -> int:
    with postgres.connect(url) as connection:
        row = connection.execute(_COMMITS).fetchone()
    assert row is not None
    return int(row[0])


def report(found: dict[str, Any], *, as_json: bool) -> None:
    """Print the machine and the figures."""
    if as_json:
        print(json.dumps(found, indent=2))  # noqa: T201
        return
    print(", ".join(f"{name} {value}" for name, value in found["machine"].items()))  # noqa: T201
    print(f"{found['waiting']:,} runs waiting")  # noqa: T201
    print("\n".join(bars.lines(found["figures"])))  # noqa: T201


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
