"""A letter about one notice or several: text and HTML, a link to the page, and nothing that decides."""

from __future__ import annotations

import html
import os
import time
from collections.abc import Callable, Sequence
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr

from django.conf import settings

from runs import models
from runs.notices.failing import NotTaken
from runs.selectors import notice_words as words
from runs.tools import contract, mail_server

MOST = 50
FOOT = "You decide on the page, after signing in. Opening a link decides nothing."


def compose(rows: Sequence[models.Delivery], *, to: str) -> EmailMessage:
    """Return the letter; its Message-ID is the event's, or that of what is gathered, on each try."""
    first = rows[0]
    told = [words.of(row.notice) for row in rows[:MOST]]
    more = len(rows) - len(told)
    message = EmailMessage(policy=SMTP)
    message["Subject"] = (
        words.title(first.notice) if len(rows) == 1 else f"{len(rows)} notices from ckptsite"
    )[:200]
    message["From"] = settings.DEFAULT_FROM_EMAIL
    message["To"] = to
    message["Date"] = format_datetime(first.notice.at)
    message["Message-ID"] = f"<{event_of(first)}.{first.person_id or 0}@{_domain()}>"
    message["Auto-Submitted"] = "auto-generated"
    message["X-Event-Id"] = event_of(first)
    manage = f"{settings.PUBLIC_URL}/settings/notifications/"
    end = f"And {more} more, on the page." if more > 0 else ""
    text = [_text(one) for one in told] + ([end] if end else []) + [f"{FOOT}\nWhat you are told: {manage}\n"]
    message.set_content("\n\n".join(text))
    parts = "".join(_html(one) for one in told) + (f"<p>{end}</p>" if end else "")
    message.add_alternative(
        f'<!doctype html><html lang="en"><body style="font-family:system-ui,sans-serif;line-height:1.5">{parts}'
        f'<p style="color:#555">{FOOT} <a href="{html.escape(manage)}">What you are told</a></p></body></html>',
        subtype="html",
    )
    return message


def event_of(row: models.Delivery) -> str:
    """Return the id under which this goes out on each try."""
    return str(row.bundle or row.notice.event)


def sending(rows: Sequence[models.Delivery], *, to: str, within: float) -> Callable[[], str]:
    """Return what sends the letter and returns what the server said; without a mail server it becomes a file."""
    content = compose(rows, to=to).as_bytes()
    name = f"{event_of(rows[0])}.{rows[0].person_id or 0}.eml"
    return lambda: _post(content, to=to, within=within) if settings.EMAIL_HOST else _file(name, content)


def _post(content: bytes, *, to: str, within: float) -> str:
    end = time.monotonic() + within
    try:
        return mail_server.deliver(
            mail_server.Server.configured(),
            sender=parseaddr(settings.DEFAULT_FROM_EMAIL)[1],
            to=to,
            content=content,
            remaining=lambda: end - time.monotonic(),
        )
    except contract.DidNotHappen as refused:
        raise NotTaken(str(refused), away=refused.retryable) from refused
    except OSError as error:  # SMTP's errors are among these
        raise NotTaken(f"The mail server did not say that it took it: {error}.", away=True) from error


def _file(name: str, content: bytes) -> str:
    """Write the letter whole or not at all; a second try replaces it by itself."""
    folder = settings.CKPTSITE_NOTICES_DIR
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f".{name}.part"
        part.write_bytes(content)
        os.replace(part, folder / name)
    except OSError as error:
        raise NotTaken(f"The letter could not be written: {error}.", away=True) from error
    return str(name)


def _text(told: words.Told) -> str:
    facts = "\n".join(f"{name}: {value}" for name, value in told.facts)
    return f"{told.line}\n{facts}\n{told.link}"


def _html(told: words.Told) -> str:
    facts = "".join(
        f'<tr><td style="color:#555;padding-right:1em;vertical-align:top">{html.escape(name)}</td>'
        f"<td>{html.escape(value)}</td></tr>"
        for name, value in told.facts
    )
    link = html.escape(told.link)
    head = f'<h2 style="font-size:1.1em">{html.escape(told.line)}</h2>'
    return f'{head}<table>{facts}</table><p><a href="{link}">Open the page</a></p>'


def _domain() -> str:
    return parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2] or "localhost"
