"""Many open pages on one web process: `python -m tests.bench.live [--json] [--pages N]`.

Starts `manage.py up --demo` on a seeded folder and opens streams as that many pages do: most of them a run's page, some
inboxes. Then runs change, some of them watched, and questions come and go. Each page that hears of it waits as the
browser would and asks for its part. Measured are the time from the hint to the part, the memory of the web process, the
transactions that idle pages cause, and how all of them come back at once when the web process was killed. Exit code 1
if a bar is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import redis

from ckptsite import addresses
from ckptsite.services import children, postgres
from ckptsite.services import folder as folders
from tests.bench import browser, desk
from tests.services import upping

BARS = {
    "hint_to_part_p95_ms": 1000.0,
    "inbox_to_news_p95_ms": 1000.0,
    "memory_mb": 150.0,
    "transactions_per_idle_page": 0.2,
    "all_back_seconds": 60.0,
}
RUNS = 2_000
SECONDS = 20
PER_SECOND = 50
"""Changes of runs; one in a hundred is one of the inbox as well."""
WATCHED = 0.1
"""Which part of the changes is of a run that somebody looks at."""
WAITS = 0.1
"""So long a page waits for more before it asks, as its templates say."""
IDLE, QUIET = 10, 8
"""Seconds in which idle pages are watched: one that asked every 20 seconds would be at 0.5. The clock's own vary."""
PEOPLE = ("reviewer", "operator", "auditor", "admin", "viewer")


@dataclass
class Page:
    """One open page."""

    run: int  # 0: the inbox
    cookies: str
    names: set[str] = field(default_factory=set)
    connected: float = 0.0
    writer: asyncio.StreamWriter | None = None

    @property
    def topics(self) -> str:
        """Return what its stream asks for."""
        return "t=queue&t=inbox" if self.run == 0 else f"t=queue&t=run-{self.run}"

    def asks(self, name: str) -> str:
        """Return what it asks for when it hears this."""
        if name == "queue":
            return "/inbox/?part=count"
        return "/inbox/?part=news" if self.run == 0 else f"/runs/{self.run}/?part=live"


class Bench:
    """The pages, what was told, and what came of it."""

    def __init__(self, url: str, pages: list[Page]) -> None:
        self.host, self.port = urlsplit(url).hostname or "", urlsplit(url).port or 80
        self.pages = pages
        self.told: dict[str, float] = {}
        """When something was told that nobody has asked about yet, by topic."""
        self.took: dict[str, list[float]] = {"part": [], "news": [], "count": []}
        self.failed = 0
        self._threads = ThreadPoolExecutor(max_workers=16)
        self._asking: set[asyncio.Task[None]] = set()

    async def keep(self, page: Page) -> None:
        """Keep the stream of a page open, as a browser does, and ask for what it tells."""
        while True:
            try:
                reader, page.writer = await asyncio.open_connection(self.host, self.port)
                page.writer.write(
                    f"GET /events/?{page.topics} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
                    f"Cookie: {page.cookies}\r\nAccept: text/event-stream\r\n\r\n".encode()
                )
                head = await reader.readuntil(b"\r\n\r\n")
                if b" 200 " not in head.split(b"\r\n", 1)[0]:
                    raise ConnectionError(head[:100])
                page.connected = time.monotonic()
                while line := await reader.readline():
                    if line.startswith(b"event: "):
                        asking = asyncio.create_task(self._ask(page, line[7:].strip().decode()))
                        self._asking.add(asking)
                        asking.add_done_callback(self._asking.discard)
            except (OSError, asyncio.IncompleteReadError):
                pass
            page.connected = 0.0
            await asyncio.sleep(random.uniform(0.5, 3.0))

    async def _ask(self, page: Page, name: str) -> None:
        """Wait for more, and ask; what was told meanwhile is asked for once."""
        if name in page.names:
            return
        page.names.add(name)
        await asyncio.sleep(WAITS)
        page.names.discard(name)
        began = self.told.get(name if name.startswith("run-") else "inbox")
        loop = asyncio.get_running_loop()
        ok = await loop.run_in_executor(self._threads, self._get, page, page.asks(name))
        if not ok:
            self.failed += 1
        elif began is not None and name != "resync":
            kind = "count" if name == "queue" else "news" if page.run == 0 else "part"
            self.took[kind].append(time.monotonic() - began)

    def _get(self, page: Page, path: str) -> bool:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            connection.request("GET", path, headers={"Cookie": page.cookies, "HX-Request": "true"})
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        return answer.status in {200, 204, 304}

    async def quiet(self, within: float) -> None:
        """Wait until no page has asked for anything for some seconds."""
        end, since = time.monotonic() + within, time.monotonic()
        while time.monotonic() - since < QUIET:
            if self._asking:
                since = time.monotonic()
            if time.monotonic() > end:
                raise TimeoutError("The pages go on asking.")
            await asyncio.sleep(0.1)

    async def all_there(self, within: float) -> float:
        """Return after how long every page has its stream; TimeoutError if they don't."""
        began = time.monotonic()
        while not all(page.connected for page in self.pages):
            if time.monotonic() - began > within:
                missing = sum(not page.connected for page in self.pages)
                raise TimeoutError(f"{missing} of {len(self.pages)} pages have no stream")
            await asyncio.sleep(0.05)
        return time.monotonic() - began


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit code whether every bar is met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.live", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--pages", type=int, default=500, help="how many pages are open")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="ckptsite-bench-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        data = Path(name) / "data"
        seed = [sys.executable, "-m", "tests.bench.seed", "--quick", "--runs", str(RUNS), "--data", str(data)]
        subprocess.run(seed, cwd=children.BASE_DIR, check=True, stdout=subprocess.DEVNULL)
        environment = {"CKPTSITE_DEMO_PASSWORD": desk.PASSWORD}
        site = upping.Site(data, "--demo", "--port", "0", environment=environment).ready()
        try:
            found = asyncio.run(measure(site, folders.Folder(data), options.pages))
        finally:
            site.end(signal.SIGTERM)
    report(found, as_json=options.json)
    return 0 if all(bar["met"] for bar in found["bars"].values()) else 1


async def measure(site: upping.Site, folder: folders.Folder, count: int) -> dict[str, Any]:
    """Return every figure and the bars."""
    with postgres.connect(folder.database_url) as database:
        database.autocommit = True
        desk.at_rest(database)
        rows = database.execute("SELECT id FROM runs_run ORDER BY id DESC LIMIT %s", [RUNS]).fetchall()
        runs = [int(row[0]) for row in rows]
        cookies = [browser.Person(site.url, name, desk.PASSWORD).cookies() for name in PEOPLE]
        pages = [
            Page(run=0 if number % 10 == 0 else runs[number], cookies=cookies[number % len(cookies)])
            for number in range(count)
        ]
        await asyncio.sleep(IDLE)
        empty_memory = _memory(site)
        without = await _transactions(database)
        bench = Bench(site.url, pages)
        tasks = [asyncio.create_task(bench.keep(page)) for page in pages]
        opened = await bench.all_there(within=120)
        await bench.quiet(within=180)  # each asks for everything once
        with_them = await _transactions(database)
        idle_memory = _memory(site)
        bench.failed = 0
        await _change(bench, folder, [page.run for page in pages if page.run], runs[count:])
        memory = max(idle_memory, _memory(site))
        failed = bench.failed
        os.kill(site.pid("web"), signal.SIGKILL)
        for page in pages:
            page.connected = 0.0
        back = await bench.all_there(within=120)
        await bench.quiet(within=180)
        for task in tasks:
            task.cancel()
    part, news, badge = (desk.Spread.of(bench.took[kind]) for kind in ("part", "news", "count"))
    figures = {
        "hint_to_part_p95_ms": part.p95,
        "inbox_to_news_p95_ms": news.p95,
        "memory_mb": memory,
        "transactions_per_idle_page": max(0.0, (with_them - without) / count),
        "all_back_seconds": back,
    }
    return {
        "pages": count,
        "load": round(os.getloadavg()[0], 1),
        "hint_to_part": vars(part),
        "inbox_to_news": vars(news),
        "inbox_to_badge": vars(badge),
        "all_open_seconds": round(opened, 2),
        "memory_mb_before_and_idle": [round(empty_memory, 1), round(idle_memory, 1)],
        "parts_that_failed": failed,
        "bars": {
            name: {"found": round(figures[name], 3), "bar": bar, "met": figures[name] <= bar}
            for name, bar in BARS.items()
        },
    }


async def _change(bench: Bench, folder: folders.Folder, watched: list[int], others: list[int]) -> None:
    """Tell changes as transitions do, for some time."""
    from runs import hints

    chance = random.Random(1)
    with redis.Redis.from_url(addresses.redis(folder.redis_url).client) as client:
        for number in range(PER_SECOND * SECONDS):
            run = chance.choice(watched if chance.random() < WATCHED else others)
            topics = [f"run-{run}", "inbox"] if number % 100 == 0 else [f"run-{run}"]
            for topic in topics:
                bench.told[topic] = time.monotonic()
                client.publish(hints.CHANNEL, json.dumps({"topic": topic}))
            await asyncio.sleep(1 / PER_SECOND)
        await bench.quiet(within=180)


async def _transactions(database: psycopg.Connection) -> int:
    """Return how many transactions the whole site made in some seconds."""
    asked = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"

    def now() -> int:
        row = database.execute(asked).fetchone()
        assert row is not None
        return int(row[0])

    before = now()
    await asyncio.sleep(IDLE)
    return now() - before


def _memory(site: upping.Site) -> float:
    """Return what the web process takes, in megabytes."""
    pid = site.pid("web")
    return next(size / 1024 for name, size in desk.memory(site).items() if name.startswith(f"{pid} "))


def report(found: dict[str, Any], *, as_json: bool) -> None:
    """Print the figures."""
    if as_json:
        print(json.dumps(found, indent=2))  # noqa: T201
        return
    for name in ("hint_to_part", "inbox_to_news", "inbox_to_badge"):
        spread = found[name]
        print(f"{name:16} n {spread['n']:5}  p50 {spread['p50']:8.1f}  p95 {spread['p95']:8.1f} ms")  # noqa: T201
    print(f"memory without pages, and with idle ones: {found['memory_mb_before_and_idle']} MB")  # noqa: T201
    failed, opened = found["parts_that_failed"], found["all_open_seconds"]
    print(f"{found['pages']} pages, load {found['load']}, all open in {opened} s, {failed} parts failed")  # noqa: T201
    for name, bar in found["bars"].items():
        print(f"{name:28} {bar['found']:8} of {bar['bar']:6}  {'met' if bar['met'] else 'MISSED'}")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
