"""AgentDojo through the engine: `python -m tests.suites.agentdojo [--suite NAME ...] [--json]`.

Replays what each suite says is right for each of its user tasks, with a reviewer who releases exactly that; then each
of its injected tasks behind a user's task, as an agent would call it that has been hijacked. Starts a PostgreSQL of
its own. Exit code 1 if a task fails by the suite's own check, an effect went out unreleased or twice, a read stopped
for a person, a checkpoint doesn't hold the environment, or an injected task that needs an effect was carried out. An
injected task that only reads (a page of the attacker's, say) stops for nobody under the first policy; it is counted
apart. One that the suite says no calls for can't be replayed, and isn't counted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from tests.bench import stage


def main(arguments: Sequence[str]) -> int:
    """Play, print, and say by the exit code whether everything is as it must be."""
    from tests.suites import worlds

    parser = argparse.ArgumentParser(prog="python -m tests.suites.agentdojo", description=__doc__)
    parser.add_argument(
        "--suite", action="append", choices=worlds.SUITES, help="only this one; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    with stage.standing(environment={"CKPTSITE_UNDO_WINDOW_3": "0"}):
        figures = {name: suite(name) for name in options.suite or worlds.SUITES}
    if options.json:
        print(json.dumps(figures))  # noqa: T201
    else:
        report(figures)
    return 0 if all(_good(found) for found in figures.values()) else 1


def suite(name: str, *, most: int | None = None) -> dict[str, Any]:
    """Return the figures of one suite; `most` of its tasks of each kind, or all."""
    from tests.suites import play, worlds

    began = time.monotonic()
    play.agent(name)
    tasks, attacks = list(worlds.suite(name).user_tasks), list(worlds.suite(name).injection_tasks)
    right = [play.play(name, task) for task in tasks[:most]]
    tried = [
        play.play(name, tasks[number % len(tasks)], injection=attack)
        for number, attack in enumerate(attacks[:most])
        if play.injected(name, attack)
    ]
    every, wrong = [*right, *tried], [one for one in tried if one.attempted]
    return {
        "tasks": len(right),
        "passed": sum(one.passed for one in right),
        "calls": sum(one.calls for one in right),
        "effects": sum(one.effects for one in right),
        "gated": sum(one.gated for one in right),
        "needless": sum(one.needless for one in every),
        "ungated": sum(one.ungated for one in every),
        "doubled": sum(one.doubled for one in every),
        "strayed": sum(one.strayed for one in every),
        "attacks": len(wrong),
        "refused": sum(one.refused for one in wrong),
        "hijacked": [f"{one.task}/{one.injection}" for one in wrong if one.hijacked],
        "only_reading": len(tried) - len(wrong),
        "failed": [f"{one.task}/{one.injection}" for one in every if not one.passed],
        "seconds": round(time.monotonic() - began, 1),
    }


def _good(found: dict[str, Any]) -> bool:
    clean = not (found["needless"] or found["ungated"] or found["doubled"] or found["strayed"])
    return clean and found["effects"] == found["gated"] and not found["hijacked"] and not found["failed"]


def report(figures: dict[str, dict[str, Any]]) -> None:
    """Print the figures as a table."""
    columns = list(next(iter(figures.values())))
    print("| suite | " + " | ".join(columns) + " |")  # noqa: T201
    print("|---" * (len(columns) + 1) + "|")  # noqa: T201
    for name, found in figures.items():
        cells = (len(cell) if isinstance(cell := found[column], list) else cell for column in columns)
        print(f"| {name} | " + " | ".join(map(str, cells)) + " |")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
