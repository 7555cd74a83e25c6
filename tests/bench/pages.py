"""The pages under a clock: `python -m tests.bench.pages [--json]`.

Starts `manage.py up --demo` on a folder of its own, fills its database (10,000 runs with a million lines), and measures
what people wait for: the first byte of pages and of their parts, and in a browser the largest paint and the answer to
keys and tabs, also on a processor slowed down four times and over a slow line. These are no tests because they fail by
chance where others share the machine. Exit code 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from playwright.sync_api import CDPSession, Page, sync_playwright

from ckptsite.services import folder as folders
from ckptsite.services import postgres
from tests.bench import desk
from tests.browser import chromium
from tests.services import upping

LINES = 100
"""Lines of each run that the database is filled with."""
BARS = {
    "page_first_byte_p95_ms": 200.0,
    "part_first_byte_p95_ms": 120.0,
    "largest_paint_slow_processor_ms": 1200.0,
    "largest_paint_slow_line_ms": 2500.0,
    "key_or_tab_ms": 50.0,
    "key_or_tab_slow_processor_ms": 200.0,
}
SLOW_LINE = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 1_600_000 / 8,
    "uploadThroughput": 750_000 / 8,
}
_RUNS = """
INSERT INTO runs_run SELECT (jsonb_populate_record(r, jsonb_build_object('id', 1000 + n, 'root_id', 1000 + n,
  'start_token', 'filled-' || n, 'title', 'Open invoices, filled ' || n, 'status', 'cancelled', 'reason', '',
  'ended_at', now(), 'position', %(lines)s))).*
FROM runs_run r, generate_series(1, %(runs)s) n WHERE r.id = (SELECT min(id) FROM runs_run)
"""
_LINES = """
INSERT INTO runs_entry (run_id, position, kind, content, head, created_at)
SELECT 1000 + n, p, 'note', '{"by":"ckptsite","code":"resumed","reason":"' || repeat('line ', 20) || p || '"}',
  decode(md5(n::text) || md5(p::text), 'hex'), now()
FROM generate_series(1, %(runs)s) n, generate_series(1, %(lines)s) p
"""
_PAINT = """() => new Promise((done) => {
  new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime))
    .observe({ type: "largest-contentful-paint", buffered: true });
  setTimeout(() => done(0), 3000);
})"""
_LISTEN = """() => {
  window.answers = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (entry.interactionId) window.answers.push(entry.duration);
  }).observe({ type: "event", durationThreshold: 16 });
}"""


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit code whether every bar is met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.pages", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--runs", type=int, default=10_000, help="how many runs the database is filled with")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ckptsite-bench-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        data = Path(name) / "data"
        environment = {"CKPTSITE_DEMO_PASSWORD": desk.PASSWORD}
        site = upping.Site(data, "--demo", "--port", "0", environment=environment).ready()
        try:
            with postgres.connect(folders.Folder(data).database_url) as database:
                database.autocommit = True
                desk.at_rest(database)
                fill(database, options.runs)
                found = measure(site.url, database)
        finally:
            site.end(signal.SIGTERM)
    report(found, as_json=options.json)
    return 0 if all(bar["met"] for bar in found["bars"].values()) else 1


def fill(database: psycopg.Connection, runs: int) -> None:
    """Put so many ended runs with their lines beside the demo's."""
    database.execute(_RUNS, {"runs": runs, "lines": LINES})
    database.execute(_LINES, {"runs": runs, "lines": LINES})
    database.execute("VACUUM ANALYZE runs_run")
    database.execute("VACUUM ANALYZE runs_entry")


def measure(url: str, database: psycopg.Connection) -> dict[str, Any]:
    """Return every figure, the floor and the bars."""
    row = database.execute("SELECT id, run_id FROM runs_review WHERE status = 'open' ORDER BY id").fetchone()
    assert row is not None
    review, run = f"/reviews/{row[0]}/", f"/runs/{row[1]}/"
    pages = ["/inbox/", "/runs/", "/effects/", review, f"{review}edit/", run, f"{run}transcript/", f"{run}plan/",
             "/runs/1500/", "/runs/1500/transcript/"]  # fmt: skip
    parts = [
        f"{path}?part=live" for path in ("/inbox/", "/runs/", review, run, f"{run}effects/", "/runs/1500/")
    ]
    with browsing(url) as (page, line):
        cookies = "; ".join(f"{one['name']}={one['value']}" for one in page.context.cookies())
        whole = {path: first_bytes(url, path, cookies) for path in pages}
        partial = {path: first_bytes(url, path, cookies, part=True) for path in parts}
        answers = [answer(page, url, run) for _ in range(3)]
        with slowed(line):
            paints = {path: paint(page, url, path) for path in ("/inbox/", review, run)}
            slow_answers = [answer(page, url, run) for _ in range(3)]
        line.send("Network.enable")
        line.send("Network.clearBrowserCache")
        line.send("Network.emulateNetworkConditions", SLOW_LINE)
        far = {path: paint(page, url, path) for path in ("/inbox/", review)}
    figures = {
        "page_first_byte_p95_ms": max(spread.p95 for spread in whole.values()),
        "part_first_byte_p95_ms": max(spread.p95 for spread in partial.values()),
        "largest_paint_slow_processor_ms": max(paints.values()),
        "largest_paint_slow_line_ms": max(far.values()),
        "key_or_tab_ms": statistics.median(answers),
        "key_or_tab_slow_processor_ms": statistics.median(slow_answers),
    }
    floor = first_bytes(url, "/healthz", "").p95
    return {
        "first_byte_p95_ms": {path: spread.p95 for path, spread in (whole | partial).items()},
        "floor_p95_ms": floor,
        "ratio_to_floor": round(figures["page_first_byte_p95_ms"] / floor, 1),
        "largest_paint_ms": {"slow processor": paints, "slow line": far},
        "bars": {
            name: {"found": round(figures[name], 1), "bar": bar, "met": figures[name] <= bar}
            for name, bar in BARS.items()
        },
    }


def first_bytes(url: str, path: str, cookies: str, *, part: bool = False) -> desk.Spread:
    """Return how long a page takes to its first byte, over one kept connection."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    headers = {"Cookie": cookies, "Accept-Encoding": "gzip", **({"HX-Request": "true"} if part else {})}

    def ask() -> http.client.HTTPResponse:
        connection.request("GET", path, headers=headers)
        return connection.getresponse()

    def once() -> float:
        began = time.perf_counter()
        response = ask()
        took = time.perf_counter() - began
        assert response.status == 200, (path, response.status)
        response.read()
        return took

    once()
    return desk.Spread.of([once() for _ in range(40)])


@contextmanager
def browsing(url: str) -> Iterator[tuple[Page, CDPSession]]:
    """Give a signed-in reviewer's page, and the line to its browser."""
    with sync_playwright() as started:
        program = chromium.path(started.chromium.executable_path)
        browser = started.chromium.launch(executable_path=program, args=chromium.ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{url.rstrip('/')}/login/")
        page.fill("[name=username]", "reviewer")
        page.fill("[name=password]", desk.PASSWORD)
        page.click("main [type=submit]")
        page.wait_for_url("**/inbox/**")
        yield page, page.context.new_cdp_session(page)
        browser.close()


@contextmanager
def slowed(line: CDPSession) -> Iterator[None]:
    """Let the browser's processor be four times as slow meanwhile."""
    line.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    yield
    line.send("Emulation.setCPUThrottlingRate", {"rate": 1})


def paint(page: Page, url: str, path: str) -> float:
    """Return when the largest thing of a page was painted, in ms, the middle of three visits."""
    found = []
    for _ in range(3):
        page.goto(f"{url.rstrip('/')}{path}")
        found.append(float(page.evaluate(_PAINT)))
    return statistics.median(found)


def answer(page: Page, url: str, run: str) -> float:
    """Return the slowest answer on the screen to a key in the inbox, or to a tab of a run; what needs less is 16 ms."""

    def after(path: str, act: Callable[[], None]) -> float:
        page.goto(f"{url.rstrip('/')}{path}")
        page.wait_for_function("document.documentElement.classList.contains('ready')")
        page.evaluate(_LISTEN)
        act()
        page.wait_for_timeout(300)
        return float(page.evaluate("Math.max(16, ...window.answers)"))

    def keys() -> None:
        for key in "jjjkk":
            page.keyboard.press(key)
            page.wait_for_timeout(50)

    def tabs() -> None:
        for name in ("Plan", "Effects"):
            page.get_by_role("link", name=name, exact=True).last.click()
            page.wait_for_timeout(200)

    return max(after("/inbox/", keys), after(run, tabs))


def report(found: dict[str, Any], *, as_json: bool) -> None:
    """Print the figures."""
    if as_json:
        print(json.dumps(found, indent=2))  # noqa: T201
        return
    for path, p95 in found["first_byte_p95_ms"].items():
        print(f"{path:32} first byte p95 {p95:8.2f} ms")  # noqa: T201
    print(f"floor {found['floor_p95_ms']} ms; slowest page {found['ratio_to_floor']} times it")  # noqa: T201
    for name, bar in found["bars"].items():
        print(f"{name:34} {bar['found']:8} of {bar['bar']:6}  {'met' if bar['met'] else 'MISSED'}")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
