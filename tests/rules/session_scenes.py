"""What people do about their own sessions, for the test that each act leaves its line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils import timezone

from runs import models
from runs.transitions import sessions
from runs.transitions.actor import Actor
from tests import factories

UNAUDITED = frozenset(
    {"people.from_outside", "people.not_proved", "people.change_password", "people.changing_factors",
     "sessions.began", "sessions.ended", "sessions.proved"}
)  # fmt: skip
"""What belongs to signing in: it needs no right, and leaves its line whatever comes of it."""


def scenes(who: factories.People) -> dict[str, tuple[models.User, list[str], Callable[[Actor], Any]]]:
    """For each of these acts: who may do it, the lines that it leaves, and how it is done."""
    seat = models.Session.objects.create(session_key="seat", user=who.operator, expire_date=timezone.now())
    return {
        "sessions.end": (who.operator, ["session.ended"], lambda by: sessions.end(seat.digest, by=by)),
        "sessions.end_others": (who.operator, ["session.ended"], lambda by: sessions.end_others(by=by)),
    }
