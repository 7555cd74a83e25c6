"""The engine under a clock: `python -m tests.bench.engine [--json] [--quick]`.

Starts a PostgreSQL of its own that keeps every commit, and measures the real engine with replayed replies and tools
that do nothing, in one process as `manage.py drain` does, beside the raw floors of the same run. Three repeats;
medians and ranges, each beside its bar. Exit code 1 if a bar is missed. `--quick` is short, once, and exits with 0.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from typing import Any

from ckptsite.services import folder as folders
from tests.bench import bars, floors, stage


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is measured."""

    repeats: int
    steps: int
    long: int
    floor: int
    threads: int
    questions: int
    waiting: int


FULL = Sizes(repeats=3, steps=1000, long=5000, floor=2000, threads=300, questions=60, waiting=1000)
QUICK = Sizes(repeats=1, steps=60, long=120, floor=500, threads=20, questions=5, waiting=10)

Found = dict[str, list[float]]


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit code whether every bar is met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.engine", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--quick", action="store_true", help="a short look; the exit code says nothing of bars"
    )
    options = parser.parse_args(arguments)
    sizes = QUICK if options.quick else FULL
    found: Found = {}
    with stage.standing() as folder:
        shape = stage.machine()
        for repeat in range(sizes.repeats):
            _say(f"repeat {repeat + 1} of {sizes.repeats}")
            hot_path(found, folder.database_url, sizes)
            side_by_side(found, sizes)
        _say("people")
        approvals(found, folder, sizes)
        _say("runs that wait")
        rest(found, sizes)
    figures = bars.judged(found)
    report(shape, figures, as_json=options.json)
    return 0 if options.quick or all(figure["ok"] for figure in figures.values()) else 1


def hot_path(found: Found, url: str, sizes: Sizes) -> None:
    """Add one repeat of what steps cost, each between two measurements of the floors."""
    from tests.bench import hotpath, reading

    before = floors.measure(url, steps=sizes.floor)

    def beside(worked: hotpath.Worked) -> tuple[hotpath.Worked, floors.Floors]:
        nonlocal before
        after = floors.measure(url, steps=sizes.floor)
        middle, before = before.between(after), after
        note(found, l1=middle.l1, l2=middle.l2)
        return worked, middle

    _say("  replies and reads")
    worked, floor = beside(hotpath.reads_and_replies(sizes.steps))
    note(
        found,
        step_of_l1=(worked.run.steps + worked.calls) / worked.wall / floor.l1,
        step_ceiling=(worked.run.steps + worked.calls) / worked.said.seconds / floor.l1,
        commits_per_read=worked.commits_each(),
    )
    worked, floor = beside(hotpath.reads_and_replies(sizes.steps, asked=True))
    note(
        found,
        asked_step_of_l1=(worked.run.steps + worked.calls) / worked.wall / floor.l1,
        commits_per_reply=worked.commits["reply"] / worked.run.steps,
        commits_per_asked_read=worked.commits_each(),
    )
    _say("  effects, one by one")
    empty = hotpath.size(vacuumed=True)
    worked, floor = beside(hotpath.effects(sizes.steps, asked=True))
    one_by_one = worked.run
    note(
        found,
        effect_of_l2=sizes.steps / worked.wall / floor.l2,
        effect_ceiling=sizes.steps / worked.said.seconds / floor.l2,
        commits_per_effect=worked.commits_each(),
        now_and_then=sum(worked.commits.get(kind, 0) for kind in hotpath.NOW_AND_THEN) / sizes.steps,
        time_now_and_then=worked.seconds_now_and_then() / worked.wall,
        written_per_turn=worked.written / sizes.steps,
        statements_per_turn=worked.said.statements / sizes.steps,
        rows_per_turn=worked.said.rows / sizes.steps,
        bytes_with_reply=(hotpath.size(vacuumed=True) - empty) / sizes.steps,
    )
    worked, floor = beside(hotpath.effects(sizes.steps))
    note(found, turn_of_l2=sizes.steps / worked.wall / floor.l2, commits_per_turn=worked.commits_each())
    _say("  effects, released together")
    empty = hotpath.size(vacuumed=True)
    worked, floor = beside(hotpath.released_effects(sizes.steps))
    left = hotpath.size(vacuumed=False)
    note(
        found,
        fused_of_l2=sizes.steps / worked.wall / floor.l2,
        fused_ceiling=sizes.steps / worked.said.seconds / floor.l2,
        commits_per_fused=worked.commits_each(),
        bytes_as_left=(left - empty) / sizes.steps,
        bytes_per_effect=(hotpath.size(vacuumed=True) - empty) / sizes.steps,
    )
    note(
        found,
        newest_page=reading.newest_page(worked.run),
        shown_page=reading.shown_page(worked.run),
        whole_state=reading.whole_state(worked.run),
        whole_state_long=reading.whole_state(one_by_one),
        redrive=reading.redrive(worked.run),
    )
    _say(f"  a run of {sizes.long} steps")
    flat = hotpath.flatness(hotpath.effects(sizes.long))
    note(found, flat_median=flat["median"], flat_sum=flat["sum"])


def side_by_side(found: Found, sizes: Sizes) -> None:
    """Add one repeat of what several runs at once win, and of how long a killed worker's run stands still."""
    from tests.bench import recovery, together

    _say("  runs at once")
    note(found, four_at_once=together.speed_up(sizes.threads))
    _say("  a killed worker")
    found_again = recovery.after_kill()
    note(
        found,
        recovery_of_allowed=found_again.seconds / found_again.allowed,
        recovery_seconds=found_again.seconds,
    )


def approvals(found: Found, folder: folders.Folder, sizes: Sizes) -> None:
    """Add what people wait for, with a short and with a long run behind the question."""
    from tests.bench import latency

    short = latency.held_behind(min(50, sizes.steps), questions=sizes.questions)
    long = latency.held_behind(sizes.steps, questions=sizes.questions)
    with latency.workers(folder):
        for name, run in (("short", short), ("long", long)):
            for _ in range(sizes.repeats):
                each = sizes.questions // sizes.repeats
                p50, p95 = latency.spread(latency.approve_all(run, questions=each))
                note(found, **{f"approve_p50_{name}": p50, f"approve_p95_{name}": p95})


def rest(found: Found, sizes: Sizes) -> None:
    """Add what a sweep and an idle worker cost without and with runs that wait."""
    from tests.bench import together

    before = together.at_rest()
    together.let_wait(sizes.waiting)
    after = together.at_rest()
    note(
        found,
        waiting_queries=after.statements - before.statements,
        waiting_slices=after.slices,
        sweep_without=before.milliseconds,
        sweep_with=after.milliseconds,
    )


def note(found: Found, **values: float) -> None:
    """Add one value to each of these figures."""
    for name, value in values.items():
        found.setdefault(name, []).append(value)


def report(shape: dict[str, Any], figures: dict[str, dict[str, Any]], *, as_json: bool) -> None:
    """Print the machine and the figures."""
    if as_json:
        print(json.dumps({"machine": shape, "figures": figures}, indent=2))  # noqa: T201 - it talks to the shell
        return
    print(", ".join(f"{name} {value}" for name, value in shape.items()))  # noqa: T201
    print("\n".join(bars.lines(figures)))  # noqa: T201


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
