"""Looking a letter up by its Message-ID in a mailbox, over IMAP (RFC 9051), without changing anything there."""

from __future__ import annotations

import contextlib
import imaplib
import ssl
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from email import policy
from email.message import Message
from email.parser import BytesParser
from urllib.parse import unquote, urlsplit

_LEAST = 0.5  # seconds; with less left nothing new is begun


class Unreadable(RuntimeError):
    """The mailbox can't be looked in, so that nobody knows; one sentence."""


@dataclass(frozen=True, kw_only=True)
class Store:
    """A mailbox in which each letter that was taken is found."""

    host: str
    port: int
    user: str
    mailbox: str
    secure: bool

    @classmethod
    def at(cls, url: str) -> Store:
        """Return the mailbox of an address like imaps://user@mail.example.com/Sent."""
        parts = urlsplit(url)
        secure = parts.scheme == "imaps"
        return cls(
            host=parts.hostname or "",
            port=parts.port or (993 if secure else 143),
            user=unquote(parts.username or ""),
            mailbox=unquote(parts.path.strip("/")) or "INBOX",
            secure=secure,
        )


def find(
    store: Store, message_ids: Sequence[str], *, password: str, remaining: Callable[[], float]
) -> tuple[str, Message] | None:
    """Return the first of these that lies there, with its head; None where none does. Refuses Unreadable."""
    with _opened(store, password, remaining) as session:
        for message_id in message_ids:
            _clock(session, remaining)
            numbers = _answer(session.uid("SEARCH", "HEADER", "Message-ID", f'"{message_id}"'))
            found = numbers[0].split() if numbers and isinstance(numbers[0], bytes) else []
            for number in found:  # servers look for the text anywhere in the field
                head = _head(_answer(session.uid("FETCH", number.decode(), "(BODY.PEEK[HEADER])")))
                if head is not None and str(head["Message-ID"]).strip() == message_id:
                    return message_id, head
    return None


@contextlib.contextmanager
def _opened(store: Store, password: str, remaining: Callable[[], float]) -> Iterator[imaplib.IMAP4]:
    left = remaining()
    if left < _LEAST:
        raise Unreadable("the time was over before the mailbox was asked")
    try:
        session = _session(store, left)
    except (OSError, imaplib.IMAP4.error) as error:
        raise Unreadable(f"the mailbox at {store.host} could not be reached: {error}") from error
    try:
        _answer(session.login(store.user, password))
        _answer(session.select(_quoted(store.mailbox), readonly=True))
        yield session
    except (OSError, imaplib.IMAP4.error) as error:
        raise Unreadable(f"the mailbox {store.mailbox} at {store.host} could not be read: {error}") from error
    finally:
        with contextlib.suppress(OSError, imaplib.IMAP4.error):
            session.sock.settimeout(1)
            session.logout()


def _session(store: Store, timeout: float) -> imaplib.IMAP4:
    if store.secure:
        context = ssl.create_default_context()
        return imaplib.IMAP4_SSL(store.host, store.port, ssl_context=context, timeout=timeout)
    return imaplib.IMAP4(store.host, store.port, timeout=timeout)


def _clock(session: imaplib.IMAP4, remaining: Callable[[], float]) -> None:
    left = remaining()
    if left < _LEAST:
        raise Unreadable("the time was over before the mailbox had answered")
    session.sock.settimeout(left)


def _answer(answer: tuple[str, Sequence[object]]) -> Sequence[object]:
    kind, found = answer
    if kind != "OK":
        raise imaplib.IMAP4.error(f"{kind} {found!r}"[:300])
    return found


def _head(found: Sequence[object]) -> Message | None:
    for part in found:
        if isinstance(part, tuple) and len(part) == 2 and isinstance(part[1], bytes):
            return BytesParser(policy=policy.default).parsebytes(part[1], headersonly=True)
    return None


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
