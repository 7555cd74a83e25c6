"""Sessions with MCP servers, one a server in each process that calls it, kept open and begun anew when they break.

They live on an event loop in a thread of their own. Whoever calls waits no longer than they say: what isn't answered by
then is not known to have happened or not, and its session is given up, since nothing else is known of it either.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import importlib
import os
import threading
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from runs import exact, jsonschemas
from runs.mcp.servers import Server

PAGES = 100
"""So many pages of a server's list are read."""
_T = TypeVar("_T")


class NotThere(Exception):
    """Nothing was sent: the server can't be reached, or doesn't offer the tool as it was accepted. One sentence."""


class NoAnswer(Exception):
    """It was sent, and nothing usable came back; whether it was done isn't known. One sentence."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a server asks a person, and the schema of the answer; None where it wants something else than a form."""

    text: str
    schema: Any


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a tool answered: blocks of content as the protocol has them, and whether it says that it failed."""

    failed: bool
    content: tuple[Mapping[str, Any], ...]
    structured: Any = None
    asked: tuple[
        Question, ...
    ] = ()  # what the server wanted to know of a person meanwhile, and nobody had answered


@dataclass
class _Live:
    """One open session. `done` ends it; `offered` maps each tool to the digest of its description."""

    client: Any
    offered: dict[str, str]
    done: asyncio.Event
    changed: asyncio.Event  # the server has said that its list of tools is another
    people: _People
    broken: bool = False


@dataclass
class _People:
    """What a server wanted to know of a person since the last call began, and what they have answered for this one.

    The protocol doesn't say which call a question belongs to: it is answered only while there is no other.
    """

    asked: list[Question] = field(default_factory=list)
    answers: Mapping[str, Any] = field(default_factory=dict)
    under_way: int = 0

    def __call__(self, text: str, schema: Any) -> Any:
        answer = self.answers.get(text) if self.under_way == 1 else None
        if schema is not None and isinstance(answer, Mapping) and not jsonschemas.problems(schema, answer):
            return dict(answer)
        self.asked.append(Question(text=text, schema=schema))
        return None


def listed(name: str, server: Server, *, within: float) -> dict[str, dict[str, Any]]:
    """Return the descriptions of all tools that a server offers now; refuse (NotThere) where it can't be asked."""

    async def look() -> dict[str, dict[str, Any]]:
        live = await _session(name, server)
        return await _descriptions(live.client)

    return _run(look(), within=within, name=name, sent=False)


def call(
    name: str,
    server: Server,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    digest: str,
    within: float,
    answers: Mapping[str, Any] | None = None,
) -> Answer:
    """Return what a tool answers. Refuses NotThere before anything was sent, and NoAnswer after.

    `answers` are what people have answered to questions that it asks meanwhile, by the question's text.
    """
    end = time.monotonic() + within
    live = _run(_offering(name, server, tool, digest), within=within, name=name, sent=False)
    left = end - time.monotonic()
    if left <= 0:
        raise NotThere(f"The MCP server {name!r} was ready too late for this call.")
    return _run(_called(live, tool, arguments, left, answers or {}), within=left, name=name, sent=True)


def close() -> None:
    """End this process's sessions, and with them the servers that it started."""
    loop = _loops.pop(os.getpid(), None)
    if loop is not None:
        loop.end()


async def _offering(name: str, server: Server, tool: str, digest: str) -> _Live:
    live = await _session(name, server)
    if live.changed.is_set():
        live.changed.clear()
        live.offered = _digests(await _descriptions(live.client))
    if tool not in live.offered:
        raise NotThere(f"The MCP server {name!r} doesn't offer {tool!r} any more.")
    if live.offered[tool] != digest:
        raise NotThere(
            f"The MCP server {name!r} describes {tool!r} otherwise than it was accepted; it has to be accepted anew."
        )
    return live


async def _called(
    live: _Live, tool: str, arguments: Mapping[str, Any], within: float, answers: Mapping[str, Any]
) -> Answer:
    people = live.people
    people.asked, people.answers = [], answers
    people.under_way += 1
    try:
        result = await live.client.call_tool(tool, dict(arguments), read_timeout_seconds=within)
    except BaseException as error:
        if why := _library().refusal(error):
            raise NotThere(f"The server refused the call: {why}") from error
        live.broken = True
        live.done.set()
        raise
    finally:
        people.under_way -= 1
        people.answers = {}
    told = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return Answer(
        failed=bool(result.is_error),
        content=tuple(told.get("content", ())),
        structured=told.get("structuredContent"),
        asked=tuple(people.asked),
    )


async def _descriptions(client: Any) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    cursor = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        for tool in page.tools:
            told = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
            found[tool.name] = {
                "title": told.get("title") or "",
                "description": told.get("description") or "",
                "input": told["inputSchema"],
                "output": told.get("outputSchema"),
                "annotations": told.get("annotations") or {},
            }
        cursor = page.next_cursor
        if not cursor:
            return found
    raise NotThere(f"The server's list of tools has more than {PAGES} pages.")


def _digests(found: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    return {name: exact.digest_of(description) for name, description in found.items()}


def _library() -> Any:
    """Return what speaks the protocol; refuse (NotThere) where the extra isn't installed."""
    try:
        return importlib.import_module("runs.mcp.client")
    except ImportError as error:
        raise NotThere("MCP servers need the extra: pip install 'ckptsite[mcp]'.") from error


# One event loop a process, in a thread of its own.


class _Loop:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.live: dict[str, _Live] = {}
        self.opening: dict[str, asyncio.Lock] = {}
        self.keepers: set[asyncio.Task[None]] = set()
        self.thread = threading.Thread(target=self.loop.run_forever, name="mcp", daemon=True)
        self.thread.start()

    def end(self) -> None:
        async def all_done() -> None:
            for live in self.live.values():
                live.done.set()
            if self.keepers:
                await asyncio.wait(self.keepers, timeout=5)

        with contextlib.suppress(concurrent.futures.TimeoutError):
            asyncio.run_coroutine_threadsafe(all_done(), self.loop).result(timeout=6)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(timeout=2)
        if not self.loop.is_running():
            self.loop.close()


_loops: dict[int, _Loop] = {}
_beginning = threading.Lock()


def _here() -> _Loop:
    with _beginning:
        return _loops.setdefault(os.getpid(), _loops.get(os.getpid()) or _Loop())


def _run(work: Coroutine[Any, Any, _T], *, within: float, name: str, sent: bool) -> _T:
    """Return what `work` gives, within so many seconds; NotThere or NoAnswer say whether anything was sent."""
    future = asyncio.run_coroutine_threadsafe(work, _here().loop)
    refusal = NoAnswer if sent else NotThere
    try:
        return future.result(timeout=within)
    except (NotThere, NoAnswer):
        raise
    except concurrent.futures.TimeoutError:
        future.cancel()
        raise refusal(f"The MCP server {name!r} has not answered within {within:.0f} s.") from None
    except Exception as error:
        why = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        raise refusal(f"The MCP server {name!r} can't be used: {why}") from error


async def _session(name: str, server: Server) -> _Live:
    here = _here()
    async with here.opening.setdefault(name, asyncio.Lock()):
        live = here.live.get(name)
        if live is not None and not live.broken:
            return live
        opened: asyncio.Future[_Live] = here.loop.create_future()
        keeper = here.loop.create_task(_keep(server, opened))
        here.keepers.add(keeper)
        keeper.add_done_callback(here.keepers.discard)
        try:
            here.live[name] = live = await opened
        except BaseException:
            keeper.cancel()
            raise
        return live


async def _keep(server: Server, opened: asyncio.Future[_Live]) -> None:
    """Hold a session open until it is done with: the protocol's client ends in the task that began it."""
    live: _Live | None = None
    try:
        people, changed = _People(), asyncio.Event()
        async with _library().begin(server, asks=people, changed=changed.set) as client:
            offered = _digests(await _descriptions(client))
            live = _Live(
                client=client,
                offered=offered,
                done=asyncio.Event(),
                changed=changed,
                people=people,
            )
            opened.set_result(live)
            await live.done.wait()
    except BaseException as error:
        if not opened.done():
            opened.set_exception(error if isinstance(error, Exception) else NotThere("It was given up."))
    finally:
        if live is not None:
            live.broken = True
