"""A server on this machine that speaks as the vendors' models do: Anthropic's Messages and OpenAI's Chat Completions.

Written by hand from the vendors' public documentation of their HTTP interfaces, with streaming off and on. What it
answers is scripted: each request takes the next line of the script, and is kept as it came.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Tool = tuple[str, Any]
"""A call: the tool's name, and its arguments as JSON, or as a text that is sent as it is."""


@dataclass(frozen=True, kw_only=True)
class Say:
    """A reply. `stop` is one of: end, calls, length, refusal, filter."""

    text: str = ""
    calls: tuple[Tool, ...] = ()
    stop: str = ""
    tokens_in: int = 100
    tokens_out: int = 20
    id: str = "reply-1"

    @property
    def why(self) -> str:
        """Return why it stops."""
        return self.stop or ("calls" if self.calls else "end")


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """What goes wrong instead: an HTTP status, a connection that is cut, or an answer that doesn't come."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    said: str = "out of order"
    cut: bool = False
    half: bool = False  # cut in the middle of the answer
    hang: float = 0.0


@dataclass
class Server:
    """The server: where it is, what it will answer, and what it was asked."""

    address: str = ""
    script: list[Say | Trouble] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    otherwise: Callable[[dict[str, Any]], Say] | None = None

    def will(self, *lines: Say | Trouble) -> None:
        """Answer the next requests so."""
        self.script[:] = lines

    def next(self, body: dict[str, Any]) -> Say | Trouble:
        """Return the next line of the script, or what `otherwise` says to this request."""
        if self.script:
            return self.script.pop(0)
        return self.otherwise(body) if self.otherwise else Trouble(status=400, said="the script is over")


def serve() -> tuple[Server, ThreadingHTTPServer]:
    """Return a running server; shut it down afterwards."""
    found = Server()

    class Handler(_Handler):
        server_state = found

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.daemon_threads = True
    found.address = f"http://127.0.0.1:{running.server_port}"
    threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    return found, running


class _Handler(BaseHTTPRequestHandler):
    server_state: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Answer one request."""
        state = self.server_state
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        state.asked.append(body)
        state.keys.append(self.headers.get("x-api-key") or self.headers.get("Authorization") or "")
        line = state.next(body)
        vendor = _ANTHROPIC if self.path.endswith("/v1/messages") else _OPENAI
        if isinstance(line, Trouble):
            self._fail(line, vendor, stream=bool(body.get("stream")))
        elif body.get("stream"):
            self._send(200, b"".join(vendor.events(line, body["model"])), "text/event-stream")
        else:
            self._send(200, json.dumps(vendor.whole(line, body["model"])).encode(), "application/json")

    def _fail(self, line: Trouble, vendor: type[_Format], *, stream: bool) -> None:
        if line.hang:
            time.sleep(line.hang)
        if line.half and stream:
            events = list(vendor.events(Say(text="As I was say", calls=(("look", {}),)), "m"))
            self._head(200, "text/event-stream", {}, None)
            self.wfile.write(b"".join(events[:3]))
        elif line.half:
            self._head(200, "application/json", {}, 1_000)
            self.wfile.write(b'{"id": "x", "content": [')
        elif line.status:
            said = json.dumps(vendor.error(line)).encode()
            self._send(line.status, said, "application/json", line.headers)
            return
        self.close_connection = True
        self.wfile.flush()
        self.connection.close()

    def _send(self, status: int, body: bytes, kind: str, more: Mapping[str, str] | None = None) -> None:
        self._head(status, kind, more or {}, len(body))
        self.wfile.write(body)

    def _head(self, status: int, kind: str, more: Mapping[str, str], length: int | None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in more.items():
            self.send_header(name, value)
        self.end_headers()


class _Format:
    """One vendor's way to say it."""

    @staticmethod
    def whole(line: Say, model: str) -> dict[str, Any]:
        raise NotImplementedError

    @staticmethod
    def events(line: Say, model: str) -> Iterator[bytes]:
        raise NotImplementedError

    @staticmethod
    def error(line: Trouble) -> dict[str, Any]:
        raise NotImplementedError


_KINDS = {429: "rate_limit_error", 500: "api_error", 529: "overloaded_error", 401: "authentication_error"}


class _ANTHROPIC(_Format):
    STOP = {
        "end": "end_turn",
        "calls": "tool_use",
        "length": "max_tokens",
        "refusal": "refusal",
        "filter": "refusal",
    }

    @staticmethod
    def whole(line: Say, model: str) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": line.text}] if line.text else []
        for number, (name, given) in enumerate(line.calls):
            content.append({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given})
        return {
            "id": line.id,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": _ANTHROPIC.STOP[line.why],
            "stop_sequence": None,
            "usage": {"input_tokens": line.tokens_in, "output_tokens": line.tokens_out},
        }

    @staticmethod
    def events(line: Say, model: str) -> Iterator[bytes]:
        whole = _ANTHROPIC.whole(line, model)
        begun: dict[str, Any] = {
            **whole,
            "content": [],
            "stop_reason": None,
            "usage": {**whole["usage"], "output_tokens": 1},
        }
        yield _event({"type": "message_start", "message": begun})
        for index, block in enumerate(whole["content"]):
            kind = block["type"]
            empty = {**block, "text": ""} if kind == "text" else {**block, "input": {}}
            yield _event({"type": "content_block_start", "index": index, "content_block": empty})
            if kind == "text":
                deltas: list[dict[str, str]] = [
                    {"type": "text_delta", "text": piece} for piece in _pieces(block["text"])
                ]
            else:
                given = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(given)]
            for delta in deltas:
                yield _event({"type": "content_block_delta", "index": index, "delta": delta})
            yield _event({"type": "content_block_stop", "index": index})
        ended: dict[str, Any] = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield _event({"type": "message_delta", "delta": ended, "usage": whole["usage"]})
        yield _event({"type": "message_stop"})

    @staticmethod
    def error(line: Trouble) -> dict[str, Any]:
        kind = _KINDS.get(line.status, "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": line.said}}


class _OPENAI(_Format):
    STOP = {
        "end": "stop",
        "calls": "tool_calls",
        "length": "length",
        "refusal": "stop",
        "filter": "content_filter",
    }

    @staticmethod
    def whole(line: Say, model: str) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": line.text or None, "refusal": None}
        if line.stop == "refusal":
            message |= {"content": None, "refusal": line.text}
        if line.calls:
            message["tool_calls"] = _OPENAI.calls(line)
        return {
            "id": line.id,
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": _OPENAI.STOP[line.why]}],
            "usage": _OPENAI.usage(line),
        }

    @staticmethod
    def events(line: Say, model: str) -> Iterator[bytes]:
        def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
            choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
            head = {
                "id": line.id,
                "object": "chat.completion.chunk",
                "created": 1_700_000_000,
                "model": model,
            }
            return b"data: " + json.dumps({**head, "choices": choices, **more}).encode() + b"\n\n"

        yield chunk({"role": "assistant", "content": ""})
        name = "refusal" if line.stop == "refusal" else "content"
        for piece in _pieces(line.text) if line.text else []:
            yield chunk({name: piece})
        for index, call in enumerate(_OPENAI.calls(line)):
            function = call["function"]
            yield chunk({"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]})
            for piece in _pieces(function["arguments"]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, _OPENAI.STOP[line.why])
        yield chunk({}, None, choices=[], usage=_OPENAI.usage(line))
        yield b"data: [DONE]\n\n"

    @staticmethod
    def calls(line: Say) -> list[dict[str, Any]]:
        return [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": given if isinstance(given, str) else json.dumps(given),
                },
            }
            for number, (name, given) in enumerate(line.calls)
        ]

    @staticmethod
    def usage(line: Say) -> dict[str, int]:
        both = line.tokens_in + line.tokens_out
        return {"prompt_tokens": line.tokens_in, "completion_tokens": line.tokens_out, "total_tokens": both}

    @staticmethod
    def error(line: Trouble) -> dict[str, Any]:
        kind = _KINDS.get(line.status, "invalid_request_error")
        return {"error": {"message": line.said, "type": kind, "param": None, "code": None}}


def _event(data: dict[str, Any]) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def _pieces(text: str) -> list[str]:
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]
