"""A mail server that keeps what it takes, and a mailbox over IMAP in which it files that."""

from __future__ import annotations

import asyncio
import contextlib
import imaplib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from aiosmtpd.smtp import SMTP, Envelope, Session
from pytest_django import Settings

from tests import waiting

USER, PASSWORD = "office", "letters"


@dataclass
class Post:
    """Handler of the server: what it answers, and what it took."""

    mail: str = "250 OK"
    rcpt: str = "250 OK"
    data: str = "250 taken as 42"
    refused: str = ""
    taken: list[tuple[list[str], bytes]] = field(default_factory=list)

    async def handle_MAIL(  # noqa: N802 - the names of the library
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        envelope.mail_from = address
        return self.mail

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address == self.refused:
            return "550 not here"
        if self.rcpt.startswith("250"):
            envelope.rcpt_tos.append(address)
        return self.rcpt

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.content
        assert isinstance(content, bytes)
        self.taken.append((list(envelope.rcpt_tos), content))
        return self.data

    @contextlib.contextmanager
    def served(self) -> Iterator[int]:
        """Serve on the port that is given, while the block runs."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            loop = asyncio.new_event_loop()
            serve = loop.create_server(lambda: SMTP(self, loop=loop, hostname="test"), sock=listener)
            server = loop.run_until_complete(serve)
            thread = threading.Thread(target=loop.run_forever)
            thread.start()
            yield listener.getsockname()[1]
            loop.call_soon_threadsafe(server.close)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(10)
            for task in asyncio.all_tasks(loop):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    loop.run_until_complete(task)
            loop.close()


@dataclass
class Filing(Post):
    """The same; each letter that it takes lies in the mailbox before it says so."""

    port: int = 0

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        answer = await super().handle_DATA(server, session, envelope)
        if answer.startswith("250"):
            await asyncio.to_thread(self.file, self.taken[-1][1])
        return answer

    def file(self, content: bytes) -> None:
        """Put a letter into the mailbox."""
        with imaplib.IMAP4("127.0.0.1", self.port, timeout=10) as session:
            session.login(USER, PASSWORD)
            session.append("Sent", "", "", content)

    def effects(self, key: str) -> int:
        """Return how many letters of this key it has taken."""
        return sum(f"Message-ID: <{key}@".encode() in content for _, content in self.taken)

    def state(self) -> object:
        """Return all that it has taken."""
        return list(self.taken)


@contextlib.contextmanager
def mailbox(folder: Path) -> Iterator[int]:
    """Give the port of an IMAP server with an empty mailbox "Sent", while the block runs."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    command = [str(Path(sys.executable).parent / "pymap"), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--no-service", "managesieve", "--no-service", "admin", "dict", "--demo-data"]
    command += ["--demo-user", USER, "--demo-password", PASSWORD]
    with (folder / "imap.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        waiting.until(lambda: _answers(port), within=30, what="the IMAP server to answer")
        yield port
        server.terminate()


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), imaplib.IMAP4("127.0.0.1", port, timeout=5):
        return True
    return False


def named(settings: Settings, port: int) -> None:
    """Name the mail server in the settings."""
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
    settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    settings.DEFAULT_FROM_EMAIL = "Nordhof <office@example.com>"
