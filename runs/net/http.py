"""One request to a checked address: no redirect is followed, nothing is sent again, and the answer is read to a limit.

What failed before the first byte of the request left is told from what failed after it.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from runs.net import guard

TIMEOUT = 10.0
"""Seconds that a connection may take to be made."""
LEAST = 0.05
"""With fewer seconds left nothing new is begun."""


class NotSent(Exception):
    """Nothing was sent; one sentence. `refused`: the address is one that nothing is ever sent to."""

    def __init__(self, why: str, *, refused: bool = False) -> None:
        super().__init__(why)
        self.why, self.refused = why, refused


class NoAnswer(Exception):
    """It was sent, or part of it, and no whole answer came; one sentence."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back; `cut` says that there was more than was read."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


class _Pinned(http.client.HTTPConnection):
    """Connects to the address that was checked; the certificate must be the host's."""

    def __init__(self, target: guard.Target, timeout: float) -> None:
        super().__init__(target.host, target.port, timeout=timeout)
        self._target = target
        self._raw: socket.socket | None = None

    def cut(self) -> None:
        """End it, in whatever step it is."""
        if self._raw is not None:
            with contextlib.suppress(OSError):
                self._raw.shutdown(socket.SHUT_RDWR)

    def connect(self) -> None:
        raw = self._raw = socket.create_connection(
            (self._target.address, self._target.port), timeout=self.timeout
        )
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


def send(
    method: str, url: str, *, headers: Mapping[str, str], body: bytes | None, within: float, most: int
) -> Answer:
    """Return the answer to one request, of whose body `most` bytes are read, after `within` seconds at the latest.

    Refuses NotSent, which proves that nothing left this machine, and NoAnswer, after which nobody knows.
    """
    end = time.monotonic() + within
    target = _target(url)
    if end - time.monotonic() < LEAST:
        raise NotSent("The time was over before it was sent.")
    connection = _Pinned(target, min(TIMEOUT, max(end - time.monotonic(), LEAST)))
    with _clock(connection, end):
        try:
            connection.connect()
        except (OSError, ValueError) as error:
            raise NotSent(f"{target.named} could not be reached: {_said(error)}.") from error
        if end - time.monotonic() < LEAST:
            raise NotSent("The time was over before it was sent.")
        head = {"Host": target.named, "User-Agent": "ckptsite", "Connection": "close", **headers}
        if body is not None:
            head["Content-Length"] = str(len(body))
        try:
            connection.putrequest(method, target.path, skip_host=True, skip_accept_encoding=True)
            for name, value in head.items():
                connection.putheader(name, value)
        except ValueError as error:  # still only gathered here
            raise NotSent(f"The request could not be put together: {error}.") from error
        try:
            connection.sock.settimeout(max(end - time.monotonic(), LEAST))
            connection.endheaders(body)
            response = connection.getresponse()
            found = response.read(most + 1)
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswer(f"{target.named} did not answer: {_said(error)}.") from error
        answered = {name.lower(): value for name, value in response.getheaders()}
        short = len(found) > most or bool(response.length)  # an answer may also end before its length
        return Answer(status=response.status, body=found[:most], headers=answered, cut=short)


def _target(url: str) -> guard.Target:
    try:
        return guard.resolve(url)
    except guard.Refused as refused:
        raise NotSent(str(refused), refused=True) from refused
    except LookupError as error:
        raise NotSent(str(error)) from error


@contextlib.contextmanager
def _clock(connection: _Pinned, end: float) -> Iterator[None]:
    """Cut the connection when its time is over, however its answer drips; close it in the end."""
    clock = threading.Timer(max(end - time.monotonic(), 0.0), connection.cut)
    clock.daemon = True
    clock.start()
    try:
        yield
    finally:
        clock.cancel()
        connection.close()


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
