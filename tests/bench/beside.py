"""Side by side with what one would otherwise pick: `python -m tests.bench.beside [--json] [--quick] [--steps N,N]`.

Starts a PostgreSQL of its own that keeps every commit, and lets ckptsite, DBOS and LangGraph with PostgresSaver carry
out the same run on it, one after the other, each in a process of its own and as its documentation says
(`tests/bench/sides`): so many steps of a reply and an effect, then questions to a person. What is compared are those
that write an intent before each effect, as ckptsite always does; the plain ways promise less and are shown beside them.
Only what is relative means anything elsewhere: a ratio above 1 says that ckptsite is so many times faster or smaller.
Exit code 1 if a bar is missed, 2 where the others are not installed.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import sql

from ckptsite import addresses
from ckptsite.services import children, postgres
from tests.bench import bars, stage
from tests.bench.sides import OURS, SIDES, common

STEPS = (50, 200, 1000, 5000)
REPEATS = 3
EQUAL = ("dbos-intent", "langgraph-intent")
"""The others with comparable durability, and nothing that is in beta."""

OTHERS = ("langgraph", "langgraph-checkpoint-postgres", "dbos")
MISSING = "LangGraph and DBOS are not installed: `pip install -e '.[bench]'` brings them."
NOTE = (
    "DBOS forks and recovers through a queue that it looks at once a second; LangGraph stores no answer of a person by"
    " itself, so its approval is the call that goes on; ckptsite's approval checks rights, policy and digest and writes"
    " the decision and its audit. None of them passes through a broker or a web server here."
)
"""What must be known to read the figures."""

ENOUGH = 200
"""From so many steps on a bar is put: before, what is done once at the start and at the end weighs more."""

FIGURES = {
    "steps_s": ("steps a second", 1),
    "p50": ("a step, p50, ms", -1),
    "p99": ("a step, p99, ms", -1),
    "late": ("a step of the last tenth, p50, ms", -1),
    "bytes": ("bytes a step, VACUUM FULL", -1),
    "read": ("reading the whole state, ms", -1),
    "answer": ("approval to effect, ms", -1),
    "restarted": ("the same after a restart, ms", -1),
    "fork": ("fork from the middle, until the model is asked, ms", -1),
}
"""What is measured, and whether more of it is better (1) or less (-1)."""

LARGE = 200_000_000
Found = dict[int, dict[str, dict[str, list[float]]]]
_SIZE = "SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::bigint FROM pg_stat_user_tables"


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit code whether every bar is met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.beside", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--quick", action="store_true", help="a short look, once; the exit code says nothing of bars"
    )
    parser.add_argument("--steps", default="", help="how many steps a run has, one number after the other")
    parser.add_argument("--only", default="", help=f"of {', '.join(SIDES)}: these, with commas; no bars then")
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="no run goes on for longer; it is told how far"
    )
    options = parser.parse_args(arguments)
    sides = options.only.split(",") if options.only else list(SIDES)
    if unknown := set(sides) - set(SIDES):
        parser.error(f"There is no side {', '.join(sorted(unknown))}.")
    if sides != [OURS] and not installed():
        print(MISSING, file=sys.stderr)  # noqa: T201
        return 2
    steps = [
        int(number) for number in (options.steps or ("20,60" if options.quick else "")).split(",") if number
    ]
    with stage.standing() as folder:
        shape = stage.machine()
        repeats = 1 if options.quick else REPEATS
        found = measure(
            folder.database_url, sides, steps or list(STEPS), repeats=repeats, seconds=options.seconds
        )
    figures = bars.judged(judging(found)) if set(sides) == set(SIDES) else {}
    result: dict[str, Any] = {
        "machine": shape,
        "versions": versions(sides),
        "guarantees": {side: SIDES[side][1] for side in sides},
        "found": medians(found),
        "ratios": ratios(found),
        "figures": figures,
    }
    report(result, as_json=options.json)
    return 0 if options.quick or all(figure["ok"] for figure in figures.values()) else 1


def installed() -> bool:
    """Return whether the others can be measured here."""
    names = ("dbos", "langgraph", "langgraph.checkpoint.postgres")
    try:
        return all(importlib.util.find_spec(name) for name in names)
    except ModuleNotFoundError:  # the package that it is in isn't there
        return False


def versions(sides: Sequence[str]) -> dict[str, str]:
    """Return the versions of all that is measured."""
    return {
        name: importlib.metadata.version(name)
        for name in ("ckptsite", *(OTHERS if list(sides) != [OURS] else ()), "psycopg")
    }


def measure(url: str, sides: Sequence[str], sizes: Sequence[int], *, repeats: int, seconds: float) -> Found:
    """Return every figure of each side at each size. In each repeat another side is the first one."""
    urls = {side: database(url, side) for side in sides}
    found: Found = {size: {side: {} for side in sides} for size in sizes}
    for side in sides:
        whole(urls[side], side, 3, seconds=seconds)  # makes the tables
    for repeat in range(repeats):
        for size in sizes:
            for number in range(len(sides)):
                side = sides[(number + repeat) % len(sides)]
                _say(f"repeat {repeat + 1} of {repeats}: {size} steps, {side}")
                for name, value in whole(urls[side], side, size, seconds=seconds).items():
                    found[size][side].setdefault(name, []).append(value)
                if side != OURS and _size(urls[side]) > LARGE:
                    _renew(
                        urls[side]
                    )  # to be packed again before each run, it would cost more time than the run
                    whole(urls[side], side, 3, seconds=seconds)
    return found


def database(url: str, side: str) -> str:
    """Return the address of this side's own database on the same server."""
    if side == OURS:
        return url
    other = url.replace("/ckptsite?", f"/beside_{side.replace('-', '_')}?")
    postgres.make_database(other)
    return other


def _renew(url: str) -> None:
    """Make this side's database anew."""
    name = addresses.database(url).name
    with postgres.connect(url, dbname="postgres") as connection:
        connection.autocommit = True
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
    postgres.make_database(url)


def whole(url: str, side: str, steps: int, *, seconds: float) -> dict[str, float]:
    """Return the figures of one run: it is begun, its process is gone, and another one goes on with it."""
    before = _size(url)
    begun = _half(url, side, "--steps", str(steps), "--seconds", str(seconds))
    used = _size(url) - before
    reached, each = begun["reached"], [1000 * one for one in begun["steps"]]
    after = _half(url, side, "--steps", str(reached), "--run", begun["run"])
    tenth = max(1, len(each) // 10)
    return {
        "reached": reached,
        "steps_s": 1000 * len(each) / sum(each),
        "p50": statistics.median(each),
        "p99": sorted(each)[max(0, -(-len(each) * 99 // 100) - 1)],
        "early": statistics.median(each[:tenth]),
        "late": statistics.median(each[-tenth:]),
        "bytes": used / (reached + len(begun["answers"])),
        "read": 1000 * statistics.median(after["read"]),
        "answer": 1000 * statistics.median(begun["answers"]),
        "restarted": 1000 * after["restarted"],
        "fork": 1000 * statistics.median(after["forked"]),
    }


def _half(url: str, side: str, *more: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.bench.sides", side, "--url", url, *more]
    done = subprocess.run(
        command, cwd=children.BASE_DIR, check=True, stdout=subprocess.PIPE, text=True, timeout=common.FOREVER
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _size(url: str) -> int:
    """Return the bytes of all tables and their indexes, with nothing in them that isn't needed."""
    with postgres.connect(url) as connection:
        connection.autocommit = True
        connection.execute("VACUUM (FULL, ANALYZE)")
        row = connection.execute(_SIZE).fetchone()
    assert row is not None
    return int(row[0])


def medians(found: Found) -> dict[int, dict[str, dict[str, list[float]]]]:
    """Return each figure as its median, its least and its most."""
    return {
        size: {
            side: {
                name: [round(value, 2) for value in (statistics.median(values), min(values), max(values))]
                for name, values in figures.items()
            }
            for side, figures in of_size.items()
        }
        for size, of_size in found.items()
    }


def ratios(found: Found) -> dict[int, dict[str, dict[str, list[float]]]]:
    """Return how many times better ckptsite is than each other side: of the repeats the median, least and most."""
    return {
        size: {
            side: {
                name: [round(value, 2) for value in (statistics.median(each), min(each), max(each))]
                for name, (_, better) in FIGURES.items()
                for each in [_against(of_size, side, name, better)]
            }
            for side in of_size
            if side != OURS
        }
        for size, of_size in found.items()
        if OURS in of_size
    }


def _against(
    of_size: Mapping[str, Mapping[str, Sequence[float]]], side: str, name: str, better: int
) -> list[float]:
    pairs = zip(of_size[OURS][name], of_size[side][name], strict=True)
    return [ours / theirs if better > 0 else theirs / ours for ours, theirs in pairs]


def judging(found: Found) -> dict[str, list[float]]:
    """Return what is held against a bar: that steps stay flat, and what they cost beside equal durability."""
    sizes = sorted(found)
    long = found[sizes[-1]][OURS]
    judged = {
        "beside_flat": [late / early for early, late in zip(long["early"], long["late"], strict=True)],
        "beside_bytes": [
            there / here
            for here, there in zip(found[_enough(sizes)][OURS]["bytes"], long["bytes"], strict=True)
        ],
    }
    for side in EQUAL:
        each = [_against(found[size], side, "steps_s", 1) for size in sizes if size >= ENOUGH]
        if each:
            judged[f"beside_{side.replace('-', '_')}"] = [
                min(of_repeat) for of_repeat in zip(*each, strict=True)
            ]
    return judged


def _enough(sizes: Sequence[int]) -> int:
    return next((size for size in sizes if size >= ENOUGH), sizes[-1])


def report(result: Mapping[str, Any], *, as_json: bool) -> None:
    """Print everything as JSON, or tables for people."""
    if as_json:
        print(json.dumps(result, indent=2))  # noqa: T201
        return
    shape = {**result["machine"], **result["versions"]}
    print(", ".join(f"{name} {value}" for name, value in shape.items()))  # noqa: T201
    for side, promised in result["guarantees"].items():
        print(f"{side}: {promised}.")  # noqa: T201
    print(NOTE)  # noqa: T201
    for size, of_size in result["found"].items():
        _table(f"{size:,} steps, on this machine", of_size)
        for side, figures in of_size.items():
            if figures["reached"][0] < size:
                print(f"  {side} came to {figures['reached'][0]:,.0f} steps in the time that it had")  # noqa: T201
    for size, of_size in result["ratios"].items():
        _table(f"{size:,} steps: ckptsite is so many times faster or smaller", of_size)
    print("\n".join(bars.lines(result["figures"])))  # noqa: T201


def _table(title: str, of_size: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
    print(f"\n{title} (median of the repeats)")  # noqa: T201
    print(f"  {'':52}" + "".join(f"{side:>24}" for side in of_size))  # noqa: T201
    for name, (what, _) in FIGURES.items():
        cells = "".join(f"{figures[name][0]:>24,.2f}" for figures in of_size.values())
        print(f"  {what:52}{cells}")  # noqa: T201


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
