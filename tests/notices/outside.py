"""Servers outside that take notices: real ones, which can be killed and started again on the same port."""

from __future__ import annotations

import email
import email.policy
import http.server
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session


@dataclass
class Request:
    """One request, as it came."""

    path: str
    headers: dict[str, str]
    body: bytes


Answer = tuple[int, dict[str, str], bytes]


def yes(_request: Request) -> Answer:
    """Take it."""
    return 200, {}, b"ok"


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing when somebody leaves before they have heard the answer: that is what is tested."""


@dataclass
class Receiver:
    """An HTTP server that keeps what it was sent."""

    answer: Callable[[Request], Answer] = yes
    taken: list[Request] = field(default_factory=list)
    port: int = 0

    def start(self) -> None:
        """Listen, on the port of before."""
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = Request(
                    path=self.path, headers={k.lower(): v for k, v in self.headers.items()}, body=body
                )
                outer.taken.append(request)
                status, headers, content = outer.answer(request)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_HEAD = do_PUT = do_DELETE = do_POST  # noqa: N815

            def log_message(self, *_args: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.02])
        self._thread.start()

    def stop(self) -> None:
        """Die: nothing listens any more."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join(5)
            self._server.server_close()

    def url(self, path: str = "/hook") -> str:
        """Return an address on it."""
        return f"http://127.0.0.1:{self.port}{path}"


@dataclass
class Post:
    """A mail server that keeps what it was sent."""

    data: str = "250 taken"
    taken: list[EmailMessage] = field(default_factory=list)
    port: int = 0

    def start(self) -> None:
        """Listen, on the port of before."""
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port or _free())
        self._controller.start()
        self.port = self._controller.port

    def stop(self) -> None:
        """Die: nothing listens any more."""
        if self._controller.server is not None:
            self._controller.stop()

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        """Keep the letter; whether the sender hears so is another matter."""
        assert isinstance(envelope.content, bytes)
        letter = email.message_from_bytes(envelope.content, policy=email.policy.default)
        assert isinstance(letter, EmailMessage)
        self.taken.append(letter)
        return self.data


def _free() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
