"""What people do about their own sessions, for the test that each act leaves its line."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from runs import models
from runs.transitions import refusals, sessions
from runs.transitions.actor import Actor
from tests import factories

UNAUDITED = frozenset(
    {"people.from_outside", "people.not_proved", "people.change_password", "people.changing_factors",
     "sessions.began", "sessions.ended", "sessions.proved"}
)  # fmt: skip
"""What belongs to signing in: it needs no right, and leaves its line whatever comes of it."""
PROVEN = frozenset(
    {"breaking.release", "switches.set_policy", "team.invite", "team.new_link", "team.set_groups", "team.switch",
     "team.reset", "team.make_group", "team.set_scope", "standing_in.delegate", "standing_in.add_shift",
     "tokens.create", "slack_links.code", "slack_links.link", "endpoints.create", "endpoints.rotate", "mcp.accept",
     "sessions.end", "sessions.end_others"}
)  # fmt: skip
"""What changes who may do what, makes a key that outlives the session, or says where notices go."""


def unproven(name: str, act: Callable[[Actor], Any], person: models.User) -> int:
    """Have somebody try who hasn't shown for an hour who they are; return how many refused attempts that left."""
    if name not in PROVEN:
        return 0
    seat = models.Session(user=person, proved_at=timezone.now() - datetime.timedelta(hours=1))
    with pytest.raises(refusals.Unproven):
        act(Actor(user=person, channel="page", session=seat))
    return 1


def scenes(who: factories.People) -> dict[str, tuple[models.User, list[str], Callable[[Actor], Any]]]:
    """For each of these acts: who may do it, the lines that it leaves, and how it is done."""
    seat = models.Session.objects.create(session_key="seat", user=who.operator, expire_date=timezone.now())
    return {
        "sessions.end": (who.operator, ["session.ended"], lambda by: sessions.end(seat.digest, by=by)),
        "sessions.end_others": (who.operator, ["session.ended"], lambda by: sessions.end_others(by=by)),
    }
