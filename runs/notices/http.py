"""One POST of a notice, and whether it was taken."""

from __future__ import annotations

from collections.abc import Mapping

from runs.net import http
from runs.net.http import Answer as Answer
from runs.notices.failing import NotTaken

WHOLE = 15.0
"""Seconds that all of it may take: an answer that drips keeps nobody."""
MOST = 64 * 1024


def post(url: str, *, headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the answer to one POST. Refuses (NotTaken) a forbidden address, and a server that can't be reached."""
    try:
        return http.send("POST", url, headers=headers, body=body, within=WHOLE, most=MOST)
    except http.NotSent as error:
        raise NotTaken(error.why, final=error.refused, away=not error.refused) from error
    except http.NoAnswer as error:
        raise NotTaken(str(error), away=True) from error


def taken(answer: Answer, *, who: str) -> None:
    """Refuse (NotTaken) an answer that isn't a yes."""
    status = answer.status
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise NotTaken(f"{who} answered {status}: it leads elsewhere, and nothing is sent there.")
    raise NotTaken(f"{who} answered {status}.", away=status == 429 or status >= 500, final=status == 410)
