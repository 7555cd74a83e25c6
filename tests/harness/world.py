"""The world outside, as a process of its own with an append-only store.

It knows three kinds of effect (idempotent by key, able to be looked up by key, unprotected), and it can be told to
treat the nth request for a name badly: drop it before or after applying, apply it late, apply it twice on the wire,
answer with an error after applying, or refuse provably. It never forgets, and it doesn't know what the engine thinks.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
from collections import defaultdict
from pathlib import Path
from typing import Any

LATE_SECONDS = 0.2
"""A late request is applied so long after it was sent: within every tool's settle time."""

FAULTS = ("none", "drop_before", "drop_after", "late", "error_after", "duplicate", "refused")


class Server:
    """The store and the rules of the world."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.applied: dict[str, list[str]] = defaultdict(list)
        self.requests: dict[str, int] = defaultdict(int)
        self.faults: dict[str, list[str]] = {}
        self.late: set[asyncio.Task[None]] = set()

    async def serve(self, path: str) -> None:
        """Answer requests on a Unix socket for ever."""
        server = await asyncio.start_unix_server(self._client, path)
        async with server:
            await server.serve_forever()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await reader.readline()
            if line:
                answer = await self._answer(json.loads(line))
                if answer is not None:
                    writer.write(json.dumps(answer).encode() + b"\n")
                    await writer.drain()
        except (ConnectionError, BrokenPipeError):
            return
        finally:
            writer.close()

    async def _answer(self, request: dict[str, Any]) -> dict[str, Any] | None:
        name = request["name"]
        match request["op"]:
            case "plan":
                self.faults[name] = request["faults"]
                return {"ok": True}
            case "look":
                return {"found": request["key"] in self.applied[name]}
            case "count":
                return {"count": len(self.applied[name]), "late": len(self.late)}
            case _:
                return await self._effect(request)

    async def _effect(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Apply one request as the plan for its name says; None drops the connection without an answer."""
        name = request["name"]
        number = self.requests[name]
        self.requests[name] += 1
        planned = self.faults.get(name, [])
        fault = planned[number] if number < len(planned) else "none"
        match fault:
            case "drop_before":
                return None
            case "drop_after":
                self._apply(request)
                return None
            case "late":
                task = asyncio.create_task(self._apply_late(request))
                self.late.add(task)
                task.add_done_callback(self.late.discard)
                return None
            case "refused":  # proven: this request had no effect
                return {"refused": True}
            case "error_after":
                self._apply(request)
                return {"error": 500}
            case "duplicate" if request["protection"] == "idempotent":
                self._apply(request)
        self._apply(request)
        return {"done": True}

    async def _apply_late(self, request: dict[str, Any]) -> None:
        await asyncio.sleep(LATE_SECONDS)
        self._apply(request)

    def _apply(self, request: dict[str, Any]) -> None:
        name, key = request["name"], request["key"]
        if request["protection"] == "idempotent" and key in self.applied[name]:
            return
        self.applied[name].append(key)
        with self.store.open("a") as out:
            out.write(json.dumps({"name": name, "key": key}) + "\n")


class World:
    """The world seen from outside: a client, and the owner of the process."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "world.sock")
        self.store = folder / "world.jsonl"
        self._process: Any = None

    def start(self) -> None:
        """Start the process; it answers when this returns."""
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_run, args=(self.store, self.path), daemon=True)
        self._process.start()
        while not os.path.exists(self.path):
            self._process.join(0.01)

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.join(5)

    def plan(self, name: str, faults: list[str]) -> None:
        """Say how the requests for `name` are treated, in order."""
        ask(self.path, {"op": "plan", "name": name, "faults": faults}, timeout=5)

    def count(self, name: str) -> int:
        """Return how often the effect stands in the world."""
        return int(ask(self.path, {"op": "count", "name": name}, timeout=5)["count"])


def ask(path: str, request: dict[str, Any], *, timeout: float) -> dict[str, Any]:
    """Return the world's answer; ConnectionError or TimeoutError when it gives none."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(timeout)
        client.connect(path)
        client.sendall(json.dumps(request).encode() + b"\n")
        line = client.makefile("rb").readline()
    if not line:
        raise ConnectionResetError("the world closed the connection without an answer")
    answer: dict[str, Any] = json.loads(line)
    return answer


def _run(store: Path, path: str) -> None:
    asyncio.run(Server(store).serve(path))
