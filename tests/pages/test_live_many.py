"""The stream where much happens and many listen: together, with pauses, and one page after the other."""

from __future__ import annotations

import asyncio
import threading
import time
from unittest import mock

from asgiref.sync import ThreadSensitiveContext, sync_to_async

from runs import live


def test_what_changes_at_once_is_told_together_and_not_without_pause() -> None:
    """A page waits a moment for more before it asks: told without pause it would never ask."""

    async def heard() -> list[bytes]:
        hub = live._hub()
        hub._read = _nothing  # type: ignore[method-assign]
        found, stream = [], live.stream(frozenset({"run-1", "run-2"}), person=1)
        found.append(await anext(stream))
        for _ in range(10):
            hub.tell("run-2")
            hub.tell("run-1")
        found += [await anext(stream), await anext(stream)]
        hub.tell("run-1")
        began = time.monotonic()
        found.append(await anext(stream))
        assert time.monotonic() - began > live.HOLD_SECONDS / 2
        await stream.aclose()  # type: ignore[attr-defined]
        return found

    with mock.patch.object(live, "HOLD_SECONDS", 0.1):
        wanted = [live.RESYNC, "run-1", "run-2", "run-1"]
        assert asyncio.run(heard()) == [live.event(name) for name in wanted]


def test_many_pages_are_not_all_told_at_once_what_makes_each_of_them_ask() -> None:
    async def scene() -> tuple[list[int], list[str]]:
        hub = live.Hub()
        hub._read = _nothing  # type: ignore[method-assign]
        pages = [hub.join(frozenset({live.QUEUE_LENGTH})) for _ in range(20)]
        hub.tell("inbox")
        hub.tell("inbox")
        seen = [sum(page.qsize() for page in pages)]
        while seen[-1] < len(pages):
            await asyncio.sleep(0.005)
            seen.append(sum(page.qsize() for page in pages))
        assert hub.crowd() <= live.PART_SECONDS * (len(pages) - 1)
        return seen, [page.get_nowait() for page in pages]

    with mock.patch.object(live, "BADGE_SECONDS", 0.005):
        seen, names = asyncio.run(scene())
    assert seen[0] == 0
    assert len(set(seen)) > 3, "they were told one after the other"
    assert names == [live.QUEUE_LENGTH] * 20


def test_an_open_stream_keeps_no_thread() -> None:
    """The thread that its request was answered in would stay as long as the page is open, one for each."""

    async def scene() -> tuple[threading.Thread, threading.Thread]:
        hub = live._hub()
        hub._read = _nothing  # type: ignore[method-assign]
        async with ThreadSensitiveContext():  # as Django's handler has one for each request
            its = await sync_to_async(threading.current_thread)()
            stream = live.stream(frozenset({"inbox"}), person=1)
            await anext(stream)
            its.join(timeout=5)
            later = await sync_to_async(threading.current_thread)()  # what comes at its end gets another
            await stream.aclose()  # type: ignore[attr-defined]
        return its, later

    its, later = asyncio.run(scene())
    assert not its.is_alive()
    assert its is not later


async def _nothing() -> None:
    await asyncio.sleep(0)
