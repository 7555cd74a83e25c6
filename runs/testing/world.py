"""A world to point a tool at: an HTTP server in a process of its own, with an append-only store, that can fail.

POST does one effect; the key comes in `Idempotency-Key`. With `remembers` the same key does it once, and so do PUT and
DELETE, since what is put again is what stood there. GET with `?key=`
answers 200 with what stands under the key, or 404. It never forgets, and it doesn't know what the tool thinks.
"""

from __future__ import annotations

import json
import multiprocessing
import threading
import time
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FAULTS = ("drop_before", "drop_after", "late", "error_after")
LATE_SECONDS = 0.1


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, store: Path, remembers: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.store, self.remembers = store, remembers
        self.applied: list[dict[str, str]] = []
        self.next_fault = ""
        self.late = 0
        self.lock = threading.Lock()

    def apply(self, key: str, path: str, body: str, method: str = "POST") -> None:
        """Do it, once more or once for all."""
        once = self.remembers or method in {"PUT", "DELETE"}
        with self.lock:
            if once and any(effect["key"] == key for effect in self.applied):
                return
            effect = {"key": key, "path": path, "body": body}
            self.applied.append(effect)
            with self.store.open("a", encoding="utf-8") as out:
                out.write(json.dumps(effect) + "\n")

    def apply_late(self, *effect: str) -> None:
        """Do it after the client was left without an answer."""
        time.sleep(LATE_SECONDS)
        self.apply(*effect)
        with self.lock:
            self.late -= 1


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 10

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _answer(self, code: int, value: Any) -> None:
        content = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        """Tell what stands: under a key, or all of it."""
        path, _, query = self.path.partition("?")
        key = urllib.parse.parse_qs(query).get("key", [""])[0]
        with self.server.lock:
            found = [effect for effect in self.server.applied if not key or effect["key"] == key]
            late = self.server.late
        if path == "/_world":
            self._answer(200, {"effects": found, "late": late})
        elif found:
            self._answer(200, found[0])
        else:
            self._answer(404, {"error": "nothing stands under this key"})

    def do_PUT(self) -> None:
        """Do one effect that means the same however often it is asked for."""
        self.do_POST()

    def do_DELETE(self) -> None:
        """The same."""
        self.do_POST()

    def do_POST(self) -> None:
        """Do one effect, as the next fault says."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        server = self.server
        if self.path == "/_fail":
            server.next_fault = body
            self._answer(200, {})
            return
        with server.lock:
            fault, server.next_fault = server.next_fault, ""
            server.late += fault == "late"
        effect = (self.headers.get("Idempotency-Key", ""), self.path, body, self.command)
        if fault == "late":
            threading.Thread(target=server.apply_late, args=effect, daemon=True).start()
        elif fault != "drop_before":
            server.apply(*effect)
        if fault in {"late", "drop_before", "drop_after"}:
            self.close_connection = True
        else:
            self._answer(500 if fault == "error_after" else 200, {"key": effect[0]})


class OutsideWorld:
    """The world seen from outside, and the owner of its process."""

    faults = FAULTS

    def __init__(self, folder: Path, *, remembers: bool = False) -> None:
        self.store = folder / "world.jsonl"
        self.remembers = remembers
        self.url = ""
        self._process: Any = None

    def start(self) -> None:
        """Start the process; `url` leads to it when this returns."""
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(self.store, self.remembers, there), daemon=True)
        self._process.start()
        if not here.poll(20):
            raise RuntimeError("The world did not start within 20 s.")
        self.url = f"http://127.0.0.1:{here.recv()}"
        here.close()
        there.close()

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.join(5)
        self._process.close()

    def effects(self, key: str) -> int:
        """Return how many effects stand under the key."""
        return len(self._ask(key)["effects"])

    def state(self) -> object:
        """Return every effect."""
        return self._ask("")["effects"]

    def fail(self, fault: str) -> None:
        """Treat the next request so: one of `faults`."""
        request = urllib.request.Request(f"{self.url}/_fail", data=fault.encode(), method="POST")  # noqa: S310 - our own
        urllib.request.urlopen(request, timeout=5).close()  # noqa: S310 - the same

    def quiet(self) -> None:
        """Return once no late request is under way."""
        end = time.monotonic() + 10
        while self._ask("")["late"] and time.monotonic() < end:
            time.sleep(LATE_SECONDS / 4)

    def _ask(self, key: str) -> Any:
        query = urllib.parse.urlencode({"key": key})
        with urllib.request.urlopen(f"{self.url}/_world?{query}", timeout=5) as answer:  # noqa: S310 - our own
            return json.load(answer)


def _serve(store: Path, remembers: bool, pipe: Any) -> None:
    server = _Server(store, remembers)
    pipe.send(server.server_address[1])
    pipe.close()
    server.serve_forever()
