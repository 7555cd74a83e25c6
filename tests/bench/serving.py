"""What the server does for a page: its time, what it says to the database, and the bytes that it sends."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.test import Client

from tests.bench.addresses import FRAGMENT, Address

TIMES = 12


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


def measure(people: People, address: Address, *, times: int = TIMES) -> Served:
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
    found: list[Statement] = []

    def wrapper(execute: Callable[..., Any], text: str, values: Any, many: bool, context: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(text, values, many, context)
        finally:
            found.append(Statement(str(text), values, time.perf_counter() - began))

    with connection.execute_wrapper(wrapper):
        yield found
