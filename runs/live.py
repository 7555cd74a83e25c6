"""The stream side of page hints: one subscription to Valkey a process, fanned out to bounded queues.

An event says only that something has changed; the page then asks for the fragment on the usual way. So nothing is
lost when a queue overflows or Valkey is gone: the page is told to look again (`resync`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Iterable

import redis.asyncio
import structlog
from asgiref.sync import SyncToAsync, sync_to_async
from django.conf import settings
from django.db import connections

from runs import hints

RESYNC = "resync"
_END = "end"
QUEUE = 64
TOPICS = 120
HOLD_SECONDS = 0.6
"""So long a stream gathers after it has told something. A page waits a little for more before it asks; among changes
without end it would wait for ever."""
BADGE_SECONDS, PART_SECONDS = 0.06, 0.04
"""Over so much for each open page it is spread that all are told of another length of the queue, and that all that come
back at once ask for their parts. A part takes about as long; the length, which is told again and again, a fifth."""
CROWD_SECONDS = 10.0
PING_SECONDS = 15.0
RETRY_SECONDS = 2.0
POLL_SECONDS = 20.0
LIFE_SECONDS = 600.0
"""So long a stream lives; a browser opens the next one by itself, and its session and rights are looked at again."""

log = structlog.get_logger(__name__)
QUEUE_LENGTH = "queue"
"""For every page that shows how long the queue is: a change of the inbox, told to one page after the other."""
_TOPIC = re.compile(r"inbox|queue|run-[1-9][0-9]{0,18}")


def topics(wanted: Iterable[str]) -> frozenset[str]:
    """Return the topics among `wanted` that there are, at most 120."""
    return frozenset([name for name in wanted if _TOPIC.fullmatch(name)][:TOPICS])


async def released() -> None:
    """Give the database connections of this request back: a stream lives for hours and needs none."""
    await sync_to_async(release)()


def release() -> None:
    """Do the same where the view is no coroutine."""
    connections.close_all()


def _end_thread() -> None:
    """End the thread of this request, which asgiref would keep for as long as the answer lasts: one a page."""
    request = SyncToAsync.thread_sensitive_context.get(None)
    thread = None if request is None else SyncToAsync.context_to_thread_executor.pop(request, None)
    if thread is not None:
        thread.shutdown(wait=False)


async def stream(wanted: frozenset[str], *, person: int) -> AsyncIterator[bytes]:
    """Yield the events of these topics: `resync` first, and a comment when it was quiet for a while.

    What happens at once is told together, and more only after `HOLD_SECONDS`. It ends when the person signs out, or may
    see something else than when it began.
    """
    _end_thread()
    hub = _hub()
    queue, until = hub.join(wanted, end=hints.person(person)), time.monotonic() + LIFE_SECONDS
    try:
        await asyncio.sleep(hub.crowd())
        yield event(RESYNC)
        while time.monotonic() < until:
            try:
                names = {await asyncio.wait_for(queue.get(), timeout=PING_SECONDS)}
            except TimeoutError:
                yield b": still here\n\n"
                continue
            while not queue.empty():
                names.add(queue.get_nowait())
            if _END in names:
                return
            for name in {RESYNC} if RESYNC in names else sorted(names):
                yield event(name)
            await asyncio.sleep(HOLD_SECONDS)
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
        self._joined: deque[float] = deque()
        self._later: set[tuple[asyncio.Queue[str], str]] = set()

    def join(self, wanted: frozenset[str], *, end: str = "") -> asyncio.Queue[str]:
        """Return a new subscriber's queue; the topic `end` is the last that it hears."""
        queue: asyncio.Queue[str] = asyncio.Queue(QUEUE)
        self._queues[queue], self._ends[queue] = wanted, end
        self._joined.append(time.monotonic())
        if self._reader is None or self._reader.done():
            self._reader = asyncio.create_task(self._read())
        return queue

    def crowd(self) -> float:
        """Return how long a new stream waits until its page asks for all: no while, but where many come at once."""
        while self._joined and self._joined[0] < time.monotonic() - CROWD_SECONDS:
            self._joined.popleft()
        return random.uniform(0, PART_SECONDS * max(0, len(self._joined) - 1))  # noqa: S311

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
            if topic == RESYNC:
                self._put_later(queue, RESYNC, each=PART_SECONDS)
            elif topic in wanted:
                self._put(queue, topic)
            if topic == hints.INBOX and QUEUE_LENGTH in wanted:
                self._put_later(queue, QUEUE_LENGTH, each=BADGE_SECONDS)

    def _put_later(self, queue: asyncio.Queue[str], name: str, *, each: float) -> None:
        """Put the same into all queues, but not at once: each page asks for something then."""
        if (queue, name) in self._later:
            return

        def put() -> None:
            self._later.discard((queue, name))
            if queue in self._queues:
                self._put(queue, name)

        self._later.add((queue, name))
        wait = random.uniform(0, each * max(0, len(self._queues) - 1))  # noqa: S311
        asyncio.get_running_loop().call_later(wait, put)

    def _put(self, queue: asyncio.Queue[str], name: str) -> None:
        if queue.full():
            while not queue.empty():
                queue.get_nowait()
            name = RESYNC
        queue.put_nowait(name)

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


def streams() -> int:
    """Return how many pages listen to this process."""
    return sum(len(hub) for hub in list(_hubs.values()))
