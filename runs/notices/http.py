"""One POST to a checked address: no redirect is followed, and only so much of the answer is read."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from runs.notices import guard
from runs.notices.failing import NotTaken

TIMEOUT = 10.0
"""Seconds that each step may take."""
WHOLE = 15.0
"""Seconds that all of it may take: an answer that drips keeps nobody."""
MOST = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    body: bytes


class _Pinned(http.client.HTTPConnection):
    """Connects to the address that was checked; the certificate must be the host's."""

    def __init__(self, target: guard.Target) -> None:
        super().__init__(target.host, target.port, timeout=TIMEOUT)
        self._target = target
        self._raw: socket.socket | None = None

    def cut(self) -> None:
        """End it, in whatever step it is."""
        if self._raw is not None:
            with contextlib.suppress(OSError):
                self._raw.shutdown(socket.SHUT_RDWR)

    def connect(self) -> None:
        raw = self._raw = socket.create_connection((self._target.address, self._target.port), timeout=TIMEOUT)
        if not self._target.tls:
            self.sock = raw
            return
        try:
            context = ssl.create_default_context()
            wrapped = context.wrap_socket(
                raw, server_hostname=self._target.host, do_handshake_on_connect=False
            )
            self._raw = wrapped  # it has taken the socket over
            wrapped.do_handshake()
            self.sock = wrapped
        except BaseException:
            self._raw.close()
            raise


def post(url: str, *, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer to one POST. Refuses (NotTaken) a forbidden address, and a server that can't be reached."""
    try:
        target = guard.resolve(url)
    except guard.Refused as refused:
        raise NotTaken(str(refused), final=True) from refused
    except LookupError as error:
        raise NotTaken(str(error), away=True) from error
    connection = _Pinned(target)
    clock = threading.Timer(WHOLE, connection.cut)
    clock.daemon = True
    clock.start()
    try:
        connection.putrequest("POST", target.path, skip_host=True, skip_accept_encoding=True)
        for name, value in {
            "Host": target.named,
            "User-Agent": "ckptsite",
            "Connection": "close",
            "Content-Length": str(len(body)),
            **headers,
        }.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        return Answer(status=response.status, body=response.read(MOST))
    except (OSError, http.client.HTTPException) as error:
        raise NotTaken(
            f"{target.named} did not answer: {type(error).__name__}: {error}.", away=True
        ) from error
    finally:
        clock.cancel()
        connection.close()


def taken(answer: Answer, *, who: str) -> None:
    """Refuse (NotTaken) an answer that isn't a yes."""
    status = answer.status
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise NotTaken(f"{who} answered {status}: it leads elsewhere, and nothing is sent there.")
    raise NotTaken(f"{who} answered {status}.", away=status == 429 or status >= 500, final=status == 410)
