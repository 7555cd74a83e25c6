"""Wake-ups and page hints, sent by name after the commit.

A hint only makes things faster: the clock finds the same work in the database. So a failed publish is noted and
forgotten, and none is tried for five seconds after it, lest a dead broker slow every decision down.
"""

from __future__ import annotations

import json
import threading
import time
from functools import lru_cache

import redis
import structlog
from celery import current_app
from django.conf import settings
from django.db import transaction

from runs import points

CHANNEL = "ckptsite:hints"
INBOX = "inbox"
QUIET_SECONDS = 5.0

log = structlog.get_logger(__name__)
_quiet = {"until": 0.0}
_lock = threading.Lock()


def wake(run_id: int) -> None:
    """Ask a worker to look at the run, once the open transaction has committed."""
    transaction.on_commit(lambda: _publish("wake", run_id), robust=True)


def rehearse(rehearsal_id: int) -> None:
    """Ask a worker to try other arguments, once the open transaction has committed; a lost hint is asked for again."""
    transaction.on_commit(lambda: _publish("rehearse", rehearsal_id), robust=True)


def verify(verification_id: int) -> None:
    """Ask a worker to read an effect back, once the open transaction has committed; the clock asks again."""
    transaction.on_commit(lambda: _publish("verify", verification_id), robust=True)


def look(look_id: int) -> None:
    """Ask a worker to ask an MCP server what it offers, once the open transaction has committed."""
    transaction.on_commit(lambda: _publish("look", look_id), robust=True)


def changed(run_id: int, *, inbox: bool = False) -> None:
    """Tell open pages that the run has changed (and the inbox, if a review opened or closed), after the commit."""
    transaction.on_commit(lambda: _publish("changed", run_id, inbox=inbox), robust=True)


def changed_now(run_id: int, *, inbox: bool = False) -> None:
    """Tell them at once: what changed is committed."""
    _publish("changed", run_id, inbox=inbox)


def left(user_id: int) -> None:
    """End the streams of a person who signed out, or may see something else now, after the commit.

    Who still sits before a page opens another, and is asked again who they are and what they may see.
    """
    transaction.on_commit(lambda: _publish("changed", user_id, names=(person(user_id),)), robust=True)


def person(user_id: int) -> str:
    """Return the topic under which a person's streams hear that they end; no page can ask for it."""
    return f"person-{user_id}"


def topic(run_id: int) -> str:
    """Return the page topic of a run."""
    return f"run-{run_id}"


def wake_now(run_id: int) -> bool:
    """Send the wake-up at once; return whether the broker took it."""
    return _publish("wake", run_id)


def deliver() -> None:
    """Ask a worker to send what the outbox holds, once the open transaction has committed; the clock asks again."""
    transaction.on_commit(lambda: _publish("deliver", 0), robust=True)


def deliver_now() -> bool:
    """Ask at once; return whether the broker took it."""
    return _publish("deliver", 0)


def queued() -> int | None:
    """Return how many wake-ups wait in the queue, None when the broker can't say."""
    if time.monotonic() < _quiet["until"]:
        return None
    try:
        return int(_client().llen(current_app.conf.task_default_queue))
    except Exception as error:  # any broker trouble at all
        log.warning("queue_unknown", error=f"{type(error).__name__}: {error}")
        return None


_TASKS = {
    "wake": "runs.advance",
    "rehearse": "runs.rehearse",
    "verify": "runs.verify",
    "look": "runs.look",
    "deliver": "runs.deliver",
}


def _publish(what: str, run_id: int, *, inbox: bool = False, names: tuple[str, ...] = ()) -> bool:
    points.reach(f"{what}.before")
    if time.monotonic() < _quiet["until"]:
        return False
    try:
        if what in _TASKS:
            current_app.send_task(_TASKS[what], args=[run_id])
        else:
            for name in names or ((topic(run_id), INBOX) if inbox else (topic(run_id),)):
                _client().publish(CHANNEL, json.dumps({"topic": name}))
    except Exception as error:  # any broker trouble at all: the clock does the same work a second later
        with _lock:
            _quiet["until"] = time.monotonic() + QUIET_SECONDS
        log.warning("hint_not_sent", hint=what, run=run_id, error=f"{type(error).__name__}: {error}")
        return False
    points.reach(f"{what}.after")
    return True


@lru_cache(maxsize=1)
def _client() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_CLIENT,
        socket_timeout=settings.REDIS_TIMEOUT,
        socket_connect_timeout=settings.REDIS_TIMEOUT,
        health_check_interval=10,
    )
