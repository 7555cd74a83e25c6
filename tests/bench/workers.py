"""Several worker processes, and very many runs due at once: `python -m tests.bench.workers [--json] [--quick]`.

Starts a PostgreSQL of its own that keeps every commit. Replayed runs are carried through by 1, 2 and 4 processes of
`manage.py drain`, beside the raw floor of the same server; four runs at once in threads of one process, beside one
alone. Then very many runs become due at once, and after them a few of another agent, some of these with precedence: by
the order in which they end it is told how long who waits. The figures are shown; there are no bars.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ckptsite.services import children
from tests.bench import floors, stage

PROCESSES = (1, 2, 4)
URGENT = 10
"""The precedence of the few; others have 100, and less is sooner."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is measured."""

    runs: int
    steps: int
    at_once: int
    few: int
    threads: int
    floor: int


FULL = Sizes(runs=80, steps=25, at_once=1000, few=20, threads=300, floor=2000)
QUICK = Sizes(runs=12, steps=10, at_once=60, few=6, threads=20, floor=300)


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.workers", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="a short look")
    options = parser.parse_args(arguments)
    sizes = QUICK if options.quick else FULL
    with stage.standing() as folder:
        found: dict[str, Any] = {"machine": stage.machine(), "processes": {}}
        for count in PROCESSES:
            before = floors.measure(folder.database_url, steps=sizes.floor)
            rate = throughput(count, sizes)
            floor = before.between(floors.measure(folder.database_url, steps=sizes.floor))
            found["processes"][count] = {"steps_s": round(rate, 1), "of_l1": round(rate / floor.l1, 2)}
        found["threads_of_one"] = round(_threads(sizes), 2)
        found["at_once"] = at_once(sizes)
    report(found, as_json=options.json)
    return 0


def throughput(processes: int, sizes: Sizes) -> float:
    """Return the steps a second of so many processes, from the first claim to the last end."""
    from tests.bench import recordings, tools

    runs = [recordings.start(recordings.singles(sizes.steps, tool=tools.Look)) for _ in range(sizes.runs)]
    _drain(processes)
    ends = _ends([run.pk for run in runs])
    seconds: float = (
        max(end for _, end in ends.values()) - min(began for began, _ in ends.values())
    ).total_seconds()
    return 2 * sizes.steps * sizes.runs / seconds  # a reply and a read each


def _threads(sizes: Sizes) -> float:
    from tests.bench import together

    return together.speed_up(sizes.threads)


def at_once(sizes: Sizes) -> dict[str, Any]:
    """Return when those of each kind had ended, as the part of the whole time: the many, the few, and the urgent."""
    from runs import models
    from tests.bench import recordings, tools

    replies = recordings.singles(3, tool=tools.Look)
    kinds = {
        name: [recordings.start(replies, agent=f"bench-{name}").pk for _ in range(count)]
        for name, count in (("many", sizes.at_once), ("few-after", sizes.few), ("urgent-after", sizes.few))
    }
    models.Run.objects.filter(pk__in=kinds["urgent-after"]).update(priority=URGENT)
    _drain(2)
    ends = _ends([number for numbers in kinds.values() for number in numbers])
    first, last = min(began for began, _ in ends.values()), max(end for _, end in ends.values())
    whole = (last - first).total_seconds()
    parts = {
        name: [(ends[number][1] - first).total_seconds() / whole for number in numbers]
        for name, numbers in kinds.items()
    }
    return {
        "runs_s": round(len(ends) / whole, 1),
        "seconds": round(whole, 1),
        **{
            f"{name.replace('-', '_')}_ended_at": round(statistics.median(found), 2)
            for name, found in parts.items()
        },
    }


def _drain(processes: int) -> None:
    command = [sys.executable, "manage.py", "drain"]
    started = [
        subprocess.Popen(command, cwd=children.BASE_DIR, env=os.environ.copy(), stdout=subprocess.DEVNULL)
        for _ in range(processes)
    ]
    for process in started:
        if process.wait(timeout=600) != 0:
            raise RuntimeError(f"manage.py drain ended with {process.returncode}")


def _ends(numbers: Sequence[int]) -> dict[int, tuple[Any, Any]]:
    """Return when each run was claimed last, which is once here, and when it ended; all have succeeded."""
    from runs import lifecycle, models

    rows = models.Run.objects.filter(pk__in=numbers)
    assert not rows.exclude(status=lifecycle.Run.SUCCEEDED).exists(), "not all runs succeeded"
    return {number: (began, end) for number, began, end in rows.values_list("pk", "claimed_at", "ended_at")}


def report(found: dict[str, Any], *, as_json: bool) -> None:
    """Print the figures."""
    if as_json:
        print(json.dumps(found, indent=2))  # noqa: T201
        return
    print(", ".join(f"{name} {value}" for name, value in found["machine"].items()))  # noqa: T201
    for count, one in found["processes"].items():
        print(f"{count} processes {one['steps_s']:8} steps/s, {one['of_l1']} of the floor")  # noqa: T201
    print(f"four at once in threads: {found['threads_of_one']} times one alone")  # noqa: T201
    for name, value in found["at_once"].items():
        print(f"at once: {name:24} {value}")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
