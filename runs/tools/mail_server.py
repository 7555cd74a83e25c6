"""Handing one letter to a mail server; a failure before the letter was sent is told from one after it."""

from __future__ import annotations

import contextlib
import smtplib
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.conf import settings

from runs.tools import contract

_LEAST = 0.5  # seconds; with less left nothing new is begun


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where the mail server is and how it is spoken to."""

    host: str
    port: int
    user: str = ""
    password: str = ""
    use_tls: bool = False
    use_ssl: bool = False

    @classmethod
    def configured(cls) -> Server:
        """Return the server that the settings name."""
        return cls(
            host=settings.EMAIL_HOST,
            port=settings.EMAIL_PORT,
            user=settings.EMAIL_HOST_USER,
            password=settings.EMAIL_HOST_PASSWORD,
            use_tls=settings.EMAIL_USE_TLS,
            use_ssl=settings.EMAIL_USE_SSL,
        )


def deliver(
    server: Server,
    *,
    sender: str,
    to: str,
    content: bytes,
    remaining: Callable[[], float],
    copy: str = "",
) -> str:
    """Return the server's answer after it took the letter, for whom it is `to` and for a `copy`: for both, or neither.

    1. Everything up to the recipient: a failure proves that nothing was sent, so DidNotHappen.
    2. The letter: whatever fails from here on is unknown and raised as it is. There is no second try.
    """
    with contextlib.ExitStack() as stack:
        with _nothing_sent(server):
            session = stack.enter_context(_session(server, sender, remaining))
            _clock(session, remaining)
            _accepted(session.mail(sender), f"refused the sender {sender}")
            _clock(session, remaining)
            for address in filter(None, (to, copy)):
                _accepted(session.rcpt(address), f"refused the address {address}")
                _clock(session, remaining)
        try:
            code, answer = session.data(content)
        except smtplib.SMTPDataError as error:  # the server refused the word DATA itself
            raise _refused(
                error.smtp_code, error.smtp_error, "refused the letter before it was sent"
            ) from error
        if code != 250:
            raise smtplib.SMTPDataError(code, answer)
        return _words(answer)


@contextlib.contextmanager
def _session(server: Server, sender: str, remaining: Callable[[], float]) -> Iterator[smtplib.SMTP]:
    name = sender.rpartition("@")[2] or "localhost"  # asking the network for our own name can take minutes
    left = remaining()
    if left < _LEAST:
        raise contract.DidNotHappen(
            "The time for this letter was over before the mail server was asked.", retryable=True
        )
    session: smtplib.SMTP
    if server.use_ssl:
        context = ssl.create_default_context()
        session = smtplib.SMTP_SSL(server.host, server.port, name, timeout=left, context=context)
    else:
        session = smtplib.SMTP(server.host, server.port, name, timeout=left)
    try:
        session.ehlo_or_helo_if_needed()
        if server.use_tls:
            _clock(session, remaining)
            session.starttls(context=ssl.create_default_context())
            session.ehlo_or_helo_if_needed()
        if server.user:
            _clock(session, remaining)
            session.login(server.user, server.password)
        yield session
        with contextlib.suppress(smtplib.SMTPException, OSError):
            if session.sock is not None:
                session.sock.settimeout(1)
            session.quit()
    finally:
        session.close()


@contextlib.contextmanager
def _nothing_sent(server: Server) -> Iterator[None]:
    try:
        yield
    except smtplib.SMTPAuthenticationError as error:
        raise contract.DidNotHappen(
            f"The mail server {server.host} refused our name and password."
        ) from error
    except smtplib.SMTPNotSupportedError as error:
        raise contract.DidNotHappen(
            f"The mail server {server.host} can't do what is asked: {error}."
        ) from error
    except smtplib.SMTPResponseException as error:
        raise _refused(error.smtp_code, error.smtp_error, "refused the connection") from error
    except (OSError, smtplib.SMTPException) as error:
        reason = f"The mail server {server.host} could not be reached: {error}."
        raise contract.DidNotHappen(reason, retryable=True) from error


def _clock(session: smtplib.SMTP, remaining: Callable[[], float]) -> None:
    """Let the next word wait as long as there is time; refuse (DidNotHappen) to begin it too late."""
    left = remaining()
    if left < _LEAST:
        raise contract.DidNotHappen("The time for this letter was over before it was sent.", retryable=True)
    if session.sock is not None:
        session.sock.settimeout(left)


def _accepted(answer: tuple[int, bytes], problem: str) -> None:
    code, words = answer
    if not 200 <= code < 300:
        raise _refused(code, words, problem)


def _refused(code: int, words: bytes | str, problem: str) -> contract.DidNotHappen:
    reason = f"The mail server {problem}: {code} {_words(words)}."
    return contract.DidNotHappen(reason, retryable=400 <= code < 500 or code == -1)


def _words(answer: bytes | str) -> str:
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
    return " ".join(text.split()).rstrip(".")[:300]
