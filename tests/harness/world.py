"""The world outside, as a process of its own with an append-only store.

It knows three kinds of effect (idempotent by key within a window, able to be looked up by key, unprotected), and it
can be told to treat the nth request for a name badly: drop it before or after applying, apply it late, apply it twice
on the wire, answer with an error after applying, or refuse provably. It never forgets what it did, and it doesn't
know what the engine thinks.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

PACE = float(
    os.environ.get("CKPTSITE_HARNESS_PACE") or max(1.0, os.getloadavg()[0] / (2 * (os.cpu_count() or 1)))
)
"""All times of the harness are so much longer: a machine that others use as well takes longer for everything."""
LATE_SECONDS = 0.45 * PACE
"""A late request is applied so long after it was sent: within every tool's settle time."""

FAULTS = ("none", "drop_before", "drop_after", "late", "error_after", "duplicate", "refused", "refused_again")


class Server:
    """The store and the rules of the world."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.applied: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.requests: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.reads: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.faults: dict[str, list[str]] = {}
        self.known: dict[tuple[str, str], float] = {}
        self.late: set[asyncio.Task[None]] = set()

    async def serve(self, path: str) -> None:
        """Answer requests on a Unix socket for ever."""
        server = await asyncio.start_unix_server(self._client, path, backlog=512)
        async with server:
            await server.serve_forever()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await reader.readline()
            if line:
                answer = self._answer(json.loads(line))
                if answer is not None:
                    writer.write(json.dumps(answer).encode() + b"\n")
                    await writer.drain()
        except (ConnectionError, BrokenPipeError):
            return
        finally:
            writer.close()

    def _answer(self, request: dict[str, Any]) -> dict[str, Any] | None:
        name = request.get("name", "")
        match request["op"]:
            case "plan":
                self.faults |= request["faults"]
                return {"ok": True}
            case "look":
                if "blind" in self.faults.get(name, []):
                    return {"error": "nobody can look"}
                return {"found": any(done["key"] in request["keys"] for done in self.applied[name])}
            case "read":
                self.reads[name].append({"at": time.time(), "pid": request["pid"]})
                planned = self.faults.get(name, [])[len(self.reads[name]) - 1 :]
                return {"refused": True} if planned[:1] == ["refused"] else {"value": name}
            case "forget":  # as though the window of every key of this name had passed
                self.known = {known: until for known, until in self.known.items() if known[0] != name}
                return {"ok": True}
            case "facts":
                return {
                    "facts": {
                        name: {
                            "applied": self.applied[name],
                            "requests": self.requests[name],
                            "reads": self.reads[name],
                        }
                        for name in request["names"]
                    },
                    "late": len(self.late),
                }
            case _:
                return self._effect(request)

    def _effect(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Apply one request as the plan for its name says; None drops the connection without an answer."""
        name = request["name"]
        number = len(self.requests[name])
        planned = self.faults.get(name, [])
        fault = planned[number] if number < len(planned) else "none"
        self.requests[name].append(
            {"at": time.time(), "fault": fault, "key": request["key"], "digest": request["digest"]}
        )
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
                return {"refused": "for good"}
            case "refused_again":
                return {"refused": "for now", "again": True}
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
        name, key, now = request["name"], request["key"], time.time()
        if request["protection"] == "idempotent":
            if self.known.get((name, key), 0.0) > now:
                return
            self.known[name, key] = now + request["window"]
        self.applied[name].append({"key": key, "digest": request["digest"], "at": now})
        with self.store.open("a") as out:
            out.write(json.dumps({"name": name, "key": key, "at": now}) + "\n")


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

    def plan(self, faults: dict[str, list[str]]) -> None:
        """Say how the requests for each name are treated, in order."""
        ask(self.path, {"op": "plan", "faults": faults}, timeout=10)

    def forget(self, name: str) -> None:
        """Let the windows of this name's keys pass."""
        ask(self.path, {"op": "forget", "name": name}, timeout=10)

    def facts(self, names: list[str]) -> dict[str, Any]:
        """Return what was asked for, applied and read under each name."""
        facts: dict[str, Any] = ask(self.path, {"op": "facts", "names": names}, timeout=10)["facts"]
        return facts

    def count(self, name: str) -> int:
        """Return how often the effect stands in the world."""
        return len(self.facts([name])[name]["applied"])


def ask(path: str, request: dict[str, Any], *, timeout: float, sent: Any = None) -> dict[str, Any]:
    """Return the world's answer; ConnectionError or TimeoutError when it gives none. `sent` is called in between.

    The world is at a socket's path, or at `tcp:ADDRESS:PORT` for those on another host.
    """
    with _dial(path, timeout) as client:
        client.sendall(json.dumps(request).encode() + b"\n")
        if sent is not None:
            sent()
        line = client.makefile("rb").readline()
    if not line:
        raise ConnectionResetError("the world closed the connection without an answer")
    answer: dict[str, Any] = json.loads(line)
    return answer


def _dial(path: str, timeout: float) -> socket.socket:
    if path.startswith("tcp:"):
        _, address, port = path.split(":")
        return socket.create_connection((address, int(port)), timeout=timeout)
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(timeout)
    try:
        client.connect(path)
    except OSError:
        client.close()
        raise
    return client


def _run(store: Path, path: str) -> None:
    asyncio.run(Server(store).serve(path))
