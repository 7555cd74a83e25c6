"""The stream side of page hints: one subscription to Valkey a process, fanned out to bounded queues.

An event says only that something has changed; the page then asks for the fragment on the usual way. So nothing is
lost when a queue overflows or Valkey is gone: the page is told to look again (`resync`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
import weakref
from collections.abc import AsyncIterator, Iterable

import redis.asyncio
import structlog
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections

from runs import hints

RESYNC = "resync"
_END = "end"
QUEUE = 64
TOPICS = 120
PING_SECONDS = 15.0
RETRY_SECONDS = 2.0
POLL_SECONDS = 20.0
LIFE_SECONDS = 600.0
"""So long a stream lives; a browser opens the next one by itself, and its session and rights are looked at again."""

log = structlog.get_logger(__name__)
_TOPIC = re.compile(r"inbox|run-[1-9][0-9]{0,18}")


def topics(wanted: Iterable[str]) -> frozenset[str]:
    """Return the topics among `wanted` that there are, at most 120."""
    return frozenset([name for name in wanted if _TOPIC.fullmatch(name)][:TOPICS])


async def released() -> None:
    """Give the database connections of this request back: a stream lives for hours and needs none."""
    await sync_to_async(release)()


def release() -> None:
    """Do the same where the view is no coroutine."""
    connections.close_all()


async def stream(wanted: frozenset[str], *, person: int) -> AsyncIterator[bytes]:
    """Yield the events of these topics: `resync` first, and a comment when it was quiet for a while.

    It ends when the person signs out, or may see something else than when it began.
    """
    hub = _hub()
    queue, until = hub.join(wanted, end=hints.person(person)), time.monotonic() + LIFE_SECONDS
    try:
        yield event(RESYNC)
        while time.monotonic() < until:
            try:
                name = await asyncio.wait_for(queue.get(), timeout=PING_SECONDS)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if name == _END:
                return
            yield event(name)
    finally:
        hub.leave(queue)


def event(name: str) -> bytes:
    """Return one server-sent event."""
    return f"event: {name}\ndata: {{}}\n\n".encode()


class Hub:
    """The subscribers of one event loop and the task that feeds them; the task lives while anybody listens."""

    def __init__(self) -> None:
        self._queues: dict[asyncio.Queue[str], frozenset[str]] = {}
        self._ends: dict[asyncio.Queue[str], str] = {}
        self._reader: asyncio.Task[None] | None = None

    def join(self, wanted: frozenset[str], *, end: str = "") -> asyncio.Queue[str]:
        """Return a new subscriber's queue; the topic `end` is the last that it hears."""
        queue: asyncio.Queue[str] = asyncio.Queue(QUEUE)
        self._queues[queue], self._ends[queue] = wanted, end
        if self._reader is None or self._reader.done():
            self._reader = asyncio.create_task(self._read())
        return queue

    def leave(self, queue: asyncio.Queue[str]) -> None:
        """Forget the queue."""
        self._queues.pop(queue, None)
        self._ends.pop(queue, None)
        if not self._queues and self._reader is not None:
            self._reader.cancel()
            self._reader = None

    def __len__(self) -> int:
        return len(self._queues)

    def tell(self, topic: str) -> None:
        """Put the topic into the queues that want it; one that is full is emptied and told to look again."""
        for queue in [queue for queue, end in self._ends.items() if end == topic]:
            self._queues.pop(queue, None)  # nothing comes after this
            while not queue.empty():
                queue.get_nowait()
            queue.put_nowait(_END)
        for queue, wanted in self._queues.items():
            if topic != RESYNC and topic not in wanted:
                continue
            if queue.full():
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(RESYNC)
            else:
                queue.put_nowait(topic)

    async def _read(self) -> None:
        """Read hints for ever; while they are away everybody is told to look again from time to time."""
        loop = asyncio.get_running_loop()
        first, told = True, loop.time()
        while True:
            try:
                await self._listen(first=first)
            except (redis.RedisError, OSError, TimeoutError) as error:
                log.warning("hints_away", error=f"{type(error).__name__}: {error}")
            first = False
            await asyncio.sleep(RETRY_SECONDS)
            if loop.time() - told > POLL_SECONDS:
                self.tell(RESYNC)
                told = loop.time()

    async def _listen(self, *, first: bool) -> None:
        client = redis.asyncio.Redis.from_url(
            settings.REDIS_CLIENT,
            socket_connect_timeout=settings.REDIS_TIMEOUT,
            health_check_interval=10,
        )
        try:
            async with client.pubsub() as subscription:
                await subscription.subscribe(hints.CHANNEL)
                if not first:
                    self.tell(RESYNC)
                while True:
                    message = await subscription.get_message(ignore_subscribe_messages=True, timeout=5.0)
                    if message is not None:
                        self._pass_on(message["data"])
        finally:
            with contextlib.suppress(redis.RedisError, OSError):
                await client.aclose()

    def _pass_on(self, data: bytes) -> None:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            self.tell(str(json.loads(data)["topic"]))


_hubs: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = weakref.WeakKeyDictionary()


def _hub() -> Hub:
    """Return this event loop's hub."""
    return _hubs.setdefault(asyncio.get_running_loop(), Hub())
