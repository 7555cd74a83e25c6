"""The desk under a clock: `python -m tests.bench.desk [--json]`.

Starts `manage.py up --demo` on a folder of its own and measures, as a person would feel it: the time from sending an
approval until its intent is committed, the time from a decision until another reviewer's open inbox shows it, and what
the whole process tree takes while nothing happens. Each figure is printed beside a floor that was measured in the same
run. Exit code 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg
import redis

from ckptsite import addresses
from ckptsite.services import children, postgres
from ckptsite.services import folder as folders
from tests import waiting
from tests.bench import browser, watching
from tests.services import upping

PASSWORD = "bench-bench-bench"
IDLE_SECONDS = 20.0
WATCHED = 12
BARS = {
    "approve_to_intent_p95_ms": 250.0,
    "other_screen_p95_ms": 1000.0,
    "idle_pss_mb": 400.0,
    "idle_cpu_percent": 3.0,
}
_TICK = os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spread:
    """Milliseconds of many tries."""

    n: int
    p50: float
    p95: float
    worst: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Spread:
        """Return the spread of these times."""
        ordered = sorted(second * 1000 for second in seconds)
        at = max(0, -(-len(ordered) * 95 // 100) - 1)
        return cls(
            n=len(ordered),
            p50=round(statistics.median(ordered), 2),
            p95=round(ordered[at], 2),
            worst=round(ordered[-1], 2),
        )


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit code whether every bar is met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.desk", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--approvals", type=int, default=30, metavar="N", help="how many approvals (default 30)"
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ckptsite-bench-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        environment = {"CKPTSITE_DEMO_PASSWORD": PASSWORD} | {
            f"CKPTSITE_UNDO_WINDOW_{tier}": "0" for tier in (1, 2, 3)
        }
        data = Path(name) / "data"
        site = upping.Site(data, "--demo", "--port", "0", environment=environment).ready()
        try:
            found = measure(site, folders.Folder(data), approvals=options.approvals)
        finally:
            site.end(signal.SIGTERM)
    report(found, as_json=options.json)
    return 0 if all(bar["met"] for bar in found["bars"].values()) else 1


def measure(site: upping.Site, folder: folders.Folder, *, approvals: int) -> dict[str, Any]:
    """Return every figure, the floors, the ratios and the bars."""
    with postgres.connect(folder.database_url) as database:
        database.autocommit = True
        at_rest(database)
        idle = idling(site)
        floor = {"insert_commit": insert_and_commit(database), "valkey": through_valkey(folder)}
        clicks = approving(site, folder, database, approvals)
        with watching.inbox(site.url, "reviewer2", PASSWORD) as screen:
            screens = approving(site, folder, database, min(approvals, WATCHED), screen=screen)["screen"]
    figures = {
        "approve_to_intent_p95_ms": clicks["visible"].p95,
        "other_screen_p95_ms": screens.p95,
        **idle,
    }
    return {
        "other_screen": dataclasses.asdict(screens),
        "approve_to_intent": {name: dataclasses.asdict(spread) for name, spread in clicks.items()},
        "floor": {name: dataclasses.asdict(spread) for name, spread in floor.items()},
        "ratio_to_floor": {
            "p50": round(clicks["visible"].p50 / floor["insert_commit"].p50, 1),
            "p95": round(clicks["visible"].p95 / floor["insert_commit"].p95, 1),
        },
        "idle": idle,
        "bars": {
            name: {"found": figures[name], "bar": bar, "met": figures[name] <= bar}
            for name, bar in BARS.items()
        },
    }


def approving(
    site: upping.Site,
    folder: folders.Folder,
    database: psycopg.Connection,
    wanted: int,
    *,
    screen: watching.Screen | None = None,
) -> dict[str, Spread]:
    """Approve one action after the other, each with an idle worker; return what each step took.

    With a `screen` also how long after the decision it showed that something is decided.
    """
    person = browser.Person(site.url, "reviewer", PASSWORD)
    times: dict[str, list[float]] = {name: [] for name in ("decided", "folded_in", "intent", "visible")}
    while len(times["visible"]) < wanted:
        row = database.execute(
            "SELECT id FROM runs_review WHERE status = 'open' AND kind = 'action' ORDER BY id LIMIT 1"
        ).fetchone()
        if row is None:
            more_runs(folder)
            at_rest(database)
            continue
        form = person.form(int(row[0]))
        began = time.time()
        person.send(form)
        used = "SELECT consumed_by_id FROM runs_review WHERE id = %s AND consumed_by_id IS NOT NULL"
        while database.execute(used, row).fetchone() is None:
            assert time.time() - began < 30, f"review {row[0]}: no intent came of the approval"
            time.sleep(0.004)
        times["visible"].append(time.time() - began)
        person.answered()
        moments = stages(database, int(row[0]))
        for name, moment in moments.items():
            times[name].append(moment - began)
        if screen is not None:
            times.setdefault("screen", []).append(screen.changed_after(moments["decided"]))
        at_rest(database)
    return {name: Spread.of(seconds) for name, seconds in times.items()}


def stages(database: psycopg.Connection, review: int) -> dict[str, float]:
    """Return when the decision, its line in the run's log and the intent were written.

    By the database's clock, which is this machine's.
    """
    row = database.execute(
        "SELECT extract(epoch FROM min(d.created_at)),"
        " extract(epoch FROM min(e.created_at) FILTER (WHERE e.kind = 'decision')),"
        " extract(epoch FROM max(e.created_at) FILTER (WHERE e.kind = 'intent'))"
        " FROM runs_review v JOIN runs_decision d ON d.review_id = v.id JOIN runs_entry e ON e.run_id = v.run_id"
        " AND e.kind IN ('decision', 'intent') AND (e.content::jsonb ->> 'review')::bigint = v.id WHERE v.id = %s",
        [review],
    ).fetchone()
    assert row is not None
    return {name: float(moment) for name, moment in zip(("decided", "folded_in", "intent"), row, strict=True)}


def at_rest(database: psycopg.Connection) -> None:
    """Wait until no run is under way or due, and the clock has done what the past has left it."""
    busy = (
        "SELECT 1 FROM runs_run WHERE status = 'running' OR (status = 'queued' AND wake_at < now() + '1 min')"
        " UNION ALL SELECT 1 FROM runs_occurrence o WHERE NOT EXISTS ("
        " SELECT 1 FROM runs_words w WHERE w.effect_id = o.id)"
        " UNION ALL SELECT 1 FROM runs_verification WHERE done_at IS NULL"
        " UNION ALL SELECT 1 FROM runs_review WHERE status = 'open' AND due_at < now() AND expires_at IS NULL"
        " AND groups::text NOT LIKE '%admin%'"
    )
    waiting.until(lambda: database.execute(busy).fetchone() is None, within=180, what="nothing is under way")


def more_runs(folder: folders.Folder) -> None:
    """Start the demo's three runs once more."""
    for name in ("north", "south", "west"):
        subprocess.run(
            [sys.executable, "manage.py", "start_run", "receivables", "--set", "as_of=2026-11-27",
             "--input", f"runs/demo/csv/{name}.csv", "--user", "operator"],
            cwd=children.BASE_DIR, env={**os.environ, "CKPTSITE_DATA": str(folder.root)},
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip


def insert_and_commit(database: psycopg.Connection) -> Spread:
    """Return the floor of everything durable: one row written and committed on the same server."""
    database.execute("CREATE TABLE bench_floor (id bigserial PRIMARY KEY, line text)")
    found = timed(300, lambda: database.execute("INSERT INTO bench_floor (line) VALUES (%s)", ["x" * 500]))
    database.execute("DROP TABLE bench_floor")
    return found


def through_valkey(folder: folders.Folder) -> Spread:
    """Return the floor of a hint: one message into the same Valkey and out again."""
    with redis.Redis.from_url(addresses.redis(folder.redis_url).client) as client:
        return timed(300, lambda: (client.lpush("bench", b"x"), client.brpop(["bench"], timeout=1)))


def timed(times: int, act: Callable[[], object]) -> Spread:
    """Return how long `act` takes."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        act()
        found.append(time.perf_counter() - began)
    return Spread.of(found)


def idling(site: upping.Site) -> dict[str, float]:
    """Return memory and processor time of the whole tree while nothing happens."""
    before, began = processor_seconds(site), time.monotonic()
    time.sleep(IDLE_SECONDS)  # what is measured is time that passes
    used, passed = processor_seconds(site) - before, time.monotonic() - began
    by_process = {name: round(kilobytes / 1024, 1) for name, kilobytes in memory(site).items()}
    for name, megabytes in by_process.items():
        print(f"  {megabytes:6.1f} MB  {name}", file=sys.stderr)  # noqa: T201 - a benchmark talks to the shell
    return {
        "idle_pss_mb": round(sum(by_process.values()), 1),
        "idle_cpu_percent": round(100 * used / passed, 2),
    }


def tree(site: upping.Site) -> list[int]:
    return [site.process.pid, *site.family()]


def processor_seconds(site: upping.Site) -> float:
    """Return the processor time of all processes of the tree, those that have ended included."""
    total = 0
    for pid in tree(site):
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        )
        total += sum(int(field) for field in fields[11:15])
    return total / _TICK


def memory(site: upping.Site) -> dict[str, int]:
    """Return the proportional set size of each process in kilobytes; together they are what the tree takes."""
    found = {}
    for pid in tree(site):
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:70]
        match = re.search(
            r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text("ascii"), re.MULTILINE
        )
        found[f"{pid} {command}"] = int(match[1]) if match else 0
    return found


def report(found: dict[str, Any], *, as_json: bool) -> None:
    """Print the figures."""
    if as_json:
        print(json.dumps(found, indent=2))  # noqa: T201
        return
    spreads = {**found["approve_to_intent"], "other screen": found["other_screen"], **found["floor"]}
    for name, spread in spreads.items():
        print(f"{name:15} n {spread['n']:3}  p50 {spread['p50']:8.2f}  p95 {spread['p95']:8.2f} ms")  # noqa: T201
    print(f"ratio to insert and commit: {found['ratio_to_floor']}")  # noqa: T201
    for name, bar in found["bars"].items():
        print(f"{name:26} {bar['found']:8} of {bar['bar']:6}  {'met' if bar['met'] else 'MISSED'}")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
