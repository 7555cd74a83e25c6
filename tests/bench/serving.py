"""What the server does for a page: its time, what it says to the database, and the bytes that it sends.

`python -m tests.bench.serving --runs N --data DIR` seeds a data folder, or takes one that has runs, and prints what was
measured as JSON; `tests.bench.pages` does so for several numbers of runs and judges.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.addresses import FRAGMENT, Address

if TYPE_CHECKING:
    from django.test import Client

TIMES = 20
PLANNED = 7
"""So often a search is asked under each kind of plan."""


@dataclass(frozen=True)
class Statement:
    """One statement as it was said."""

    text: str
    values: Any
    seconds: float


@dataclass(kw_only=True)
class Served:
    """What was found of one address; times in milliseconds."""

    name: str
    kind: str
    search: bool
    status: int
    p50: float
    p95: float
    sql: int
    sql_ms: float
    bytes: int
    slowest: str = field(default="", repr=False)
    slowest_ms: float = 0.0


class People:
    """The demo's people, each signed in once."""

    def __init__(self) -> None:
        self._clients: dict[str, Client] = {}

    def named(self, name: str) -> Client:
        """Return a client in which this person is signed in."""
        from django.test import Client

        from runs import models

        if name not in self._clients:
            self._clients[name] = Client()
            self._clients[name].force_login(
                models.User.objects.get(username=name), backend="runs.forms.passwords.Backend"
            )
        return self._clients[name]


def ask(people: People, address: Address) -> tuple[int, int]:
    """Return the status and the bytes of the answer."""
    headers = {"HX-Request": "true"} if address.kind == FRAGMENT else {}
    response: Any = people.named(address.who).get(address.path, headers=headers, secure=True)
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return response.status_code, len(content)


def measure(people: People, address: Address, *, times: int) -> Served:
    """Return what serving this address takes; the first time doesn't count."""
    ask(people, address)
    whole: list[float] = []
    worst, count, spent = Statement("", (), 0.0), 0, 0.0
    status = size = 0
    for _ in range(times):
        with statements() as said:
            began = time.perf_counter()
            status, size = ask(people, address)
            whole.append(1000 * (time.perf_counter() - began))
        worst = max(said, key=lambda one: one.seconds, default=worst)
        count, spent = len(said), sum(one.seconds for one in said)
    whole.sort()
    return Served(
        name=address.name,
        kind=address.kind,
        search=address.search,
        status=status,
        p50=round(whole[len(whole) // 2], 2),
        p95=round(whole[max(0, -(-len(whole) * 95 // 100) - 1)], 2),
        sql=count,
        sql_ms=round(1000 * spent, 2),
        bytes=size,
        slowest=worst.text,
        slowest_ms=round(1000 * worst.seconds, 2),
    )


@contextlib.contextmanager
def statements() -> Iterator[list[Statement]]:
    """Give the statements that are said in the block."""
    from django.db import connection

    found: list[Statement] = []

    def wrapper(execute: Callable[..., Any], text: str, values: Any, many: bool, context: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(text, values, many, context)
        finally:
            found.append(Statement(str(text), values, time.perf_counter() - began))

    with connection.execute_wrapper(wrapper):
        yield found


def plans(people: People, address: Address) -> dict[str, float] | None:
    """Return how long the slowest statement of a search takes planned for what was typed, and for whatever may be.

    The site plans each anew. A server that is told to prepare statements may take the second after some time.
    """
    import psycopg
    from django.db import connection

    with statements() as said:
        ask(people, address)
    searched = [one for one in said if "to_tsquery" in one.text]
    if not searched:
        return None
    worst = max(searched, key=lambda one: one.seconds)
    found = {}
    connection.ensure_connection()
    for mode in ("custom", "generic"):
        with connection.cursor() as cursor:
            cursor.execute(f"SET plan_cache_mode = force_{mode}_plan")
        took = []
        for _ in range(PLANNED):
            began = time.perf_counter()
            raw: Any = psycopg.Cursor(connection.connection)
            raw.execute(worst.text, worst.values, prepare=True)
            raw.fetchall()
            took.append(1000 * (time.perf_counter() - began))
        found[f"{mode}_ms"] = round(statistics.median(took), 2)
    with connection.cursor() as cursor:
        cursor.execute("RESET plan_cache_mode")
    return found


def _megabytes() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database()) / 1000000")
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])


def main(arguments: Sequence[str]) -> int:
    """Seed, measure every address, and print it as JSON."""
    from tests.bench import addresses, seed, stage

    parser = argparse.ArgumentParser(prog="python -m tests.bench.serving", description=__doc__)
    parser.add_argument("--runs", type=int, required=True, help="how many runs there shall be")
    parser.add_argument("--data", type=Path, required=True, help="the data folder")
    parser.add_argument("--times", type=int, default=TIMES, help="how often each address is asked for")
    parser.add_argument("--only", default="", help="only addresses with this in their names")
    options = parser.parse_args(arguments)
    unlimited = {"CKPTSITE_PAGE_RATE": "1000000", "CKPTSITE_ADDRESS_RATE": "1000000"}
    environment = {**seed.ENVIRONMENT, **unlimited, "PUBLIC_URL": "https://testserver"}
    with stage.standing(options.data, environment=environment, settings=seed.SERVER) as folder:
        from django.core.management import call_command

        seeded = None
        with contextlib.suppress(seed.NotEmpty):
            seeded = seed.fill(folder.database_url, options.runs, free=shutil.disk_usage(folder.root).free)
        call_command("collectstatic", verbosity=0, interactive=False)
        people = People()
        wanted = [one for one in addresses.everything() if options.only in one.name]
        served = {one.name: vars(measure(people, one, times=options.times)) for one in wanted}
        planned = {one.name: plans(people, one) for one in wanted if one.search}
        megabytes = _megabytes()
        floor = measure(people, Address(name="floor", path="/healthz", who="reviewer"), times=options.times)
    refused = {name: one["status"] for name, one in served.items() if one["status"] != 200}
    if refused:
        raise LookupError(f"not every page opens: {refused}")
    result = {
        "seeded": {} if seeded is None else vars(seeded),
        "megabytes": megabytes,
        "load": round(os.getloadavg()[0], 1),
        "floor_ms": floor.p50,
        "served": served,
        "plans": {name: found for name, found in planned.items() if found is not None},
    }
    print(json.dumps(result))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
