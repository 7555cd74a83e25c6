"""Every page under a clock, with few and with very many runs: `python -m tests.bench.pages [--json] [--runs N,N,N]`.

For each number of runs a database is seeded (`tests.bench.seed`), and each page and each part that refreshes itself is
asked for in one process as the web server does: its time, the statements that it says, and the bytes that it sends.
Searches are measured under both of the server's kinds of plan; the site plans each one anew, so only that has a bar.
What a search costs grows with what it finds, so that it has a bar of its own and none for its growth. On the largest
database a browser then opens pages, also on a processor slowed down four times and over a slow line. Exit code 1 if a
bar is missed. With `--data DIR` the databases are kept there, and those that are there are measured again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ckptsite.services import children, postgres
from ckptsite.services import folder as folders
from tests.bench import desk, painting
from tests.services import upping

BARS = {
    "page_p95_ms": 200.0,
    "fragment_p95_ms": 120.0,
    "search_p95_ms": 300.0,
    "most_against_fewest": 1.3,
    "largest_paint_slow_processor_ms": 1200.0,
    "largest_paint_slow_line_ms": 2500.0,
    "key_or_tab_ms": 50.0,
    "key_or_tab_slow_processor_ms": 200.0,
}
SHOWN = 25
LEAST_MS = 3.0
"""What grows by less isn't told from noise."""
FULL = 0.9
"""A page of fewer bytes than this share shows less."""


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit code whether every bar is met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.pages", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--runs", default="1000,100000,1000000", help="how many runs there are, one number after the other"
    )
    parser.add_argument("--no-browser", action="store_true", help="leave out what a browser would show")
    parser.add_argument(
        "--data", type=Path, help="keep the databases in this folder, and use those that it has"
    )
    options = parser.parse_args(arguments)
    sizes = sorted(int(number) for number in options.runs.split(","))
    found: dict[int, dict[str, Any]] = {}
    figures: dict[str, float] = {}
    for size in sizes:
        with _folder(options.data) as folder:
            data = folder / str(size)
            found[size] = _served(data, size)
            if size == sizes[-1] and not options.no_browser:
                figures = _painted(data)
    figures = {**_figures(found), **figures}
    result: dict[str, Any] = {
        "load": round(os.getloadavg()[0], 1),
        "sizes": found,
        "grown": _grown(found),
        "bars": {
            name: {"found": round(figures[name], 2), "bar": bar, "met": figures[name] <= bar}
            for name, bar in BARS.items()
            if name in figures
        },
    }
    report(result, as_json=options.json)
    return 0 if all(bar["met"] for bar in result["bars"].values()) else 1


@contextlib.contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(mode=0o711, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="ckptsite-bench-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        yield Path(name)


def _served(data: Path, runs: int) -> dict[str, Any]:
    """Return what was measured in a process of its own: Django is set up once in each."""
    command = [sys.executable, "-m", "tests.bench.serving", "--runs", str(runs), "--data", str(data)]
    done = subprocess.run(command, cwd=children.BASE_DIR, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _painted(data: Path) -> dict[str, float]:
    environment = {"CKPTSITE_DEMO_PASSWORD": desk.PASSWORD}
    site = upping.Site(data, "--demo", "--port", "0", environment=environment).ready()
    try:
        with postgres.connect(folders.Folder(data).database_url) as database:
            database.autocommit = True
            desk.at_rest(database)
            row = database.execute(
                "SELECT id, run_id FROM runs_review WHERE status = 'open' AND kind = 'action' ORDER BY id LIMIT 1"
            ).fetchone()
        assert row is not None
        return painting.measure(site.url, review=f"/reviews/{row[0]}/", run=f"/runs/{row[1]}/")
    finally:
        site.end(signal.SIGTERM)


def _figures(found: Mapping[int, Mapping[str, Any]]) -> dict[str, float]:
    """Return the worst of each kind, over all sizes."""
    every = [one for size in found.values() for one in size["served"].values()]

    def worst(kind: str, *, search: bool = False) -> float:
        return max(float(one["p95"]) for one in every if one["kind"] == kind and one["search"] == search)

    last = found[max(found)]["served"]
    ratios = [ratio for name, _, ratio in _ratios(found) if not last[name]["search"]]
    return {
        "page_p95_ms": worst("page"),
        "fragment_p95_ms": worst("fragment"),
        "search_p95_ms": worst("page", search=True),
        **({"most_against_fewest": max(ratios)} if len(found) > 1 else {}),
    }


def _ratios(found: Mapping[int, Mapping[str, Any]]) -> list[tuple[str, int, float]]:
    """Return by how much each page got slower in the middle, and since how many runs; the worst first.

    It is compared with the fewest runs with which it shows as much: a list that isn't full yet is drawn faster.
    """
    ratios = []
    last = found[max(found)]["served"]
    for name, one in last.items():
        full = [size for size in sorted(found) if found[size]["served"][name]["bytes"] >= FULL * one["bytes"]]
        before = found[full[0]]["served"][name]["p50"]
        grown = one["p50"] / before if one["p50"] - before > LEAST_MS else 1.0
        ratios.append((name, full[0], grown))
    return sorted(ratios, key=lambda found: -found[2])


def _grown(found: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what grew the most, with the statement that took the longest."""
    last = found[max(found)]["served"]
    return {
        name: {
            "ratio": round(ratio, 2),
            "since": since,
            "p50_ms": [found[since]["served"][name]["p50"], last[name]["p50"]],
            "sql_ms": [found[since]["served"][name]["sql_ms"], last[name]["sql_ms"]],
            "slowest": last[name]["slowest"][:300],
        }
        for name, since, ratio in _ratios(found)[:SHOWN]
        if ratio > 1.0
    }


def report(found: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the figures."""
    if as_json:
        print(json.dumps(found, indent=2))  # noqa: T201
        return
    for runs, size in found["sizes"].items():
        about = f"{size['megabytes']:,} MB, floor {size['floor_ms']} ms, load {size['load']}"
        print(f"{runs:,} runs, {about}")  # noqa: T201
        for plan in ("custom_ms", "generic_ms"):
            worst = max((one[plan] for one in size["plans"].values()), default=0.0)
            print(f"  the slowest statement of a search, {plan[:-3]} plan: {worst} ms")  # noqa: T201
        slowest = sorted(size["served"].items(), key=lambda pair: -pair[1]["p95"])
        for name, one in slowest[:SHOWN]:
            print(  # noqa: T201
                f"  {name:38} p50 {one['p50']:7.1f}  p95 {one['p95']:7.1f} ms  {one['sql']:3} statements"
                f" {one['sql_ms']:6.1f} ms  {one['bytes']:9,} bytes"
            )
    for name, one in found["grown"].items():
        print(f"grew {one['ratio']:5.2f} times since {one['since']:,}: {name} {one['p50_ms']} ms")  # noqa: T201
    for name, bar in found["bars"].items():
        print(f"{name:34} {bar['found']:8} of {bar['bar']:6}  {'met' if bar['met'] else 'MISSED'}")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
