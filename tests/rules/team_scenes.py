"""Acts on people, for the test that walks over every act."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from runs import models
from runs.transitions import breaking, decisions, standing_in, team
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.test_unknown import tomorrow

Act = Callable[[Actor], Any]


def scenes(who: factories.People, glass: models.Review) -> dict[str, tuple[models.User, list[str], Act]]:
    """For each act: who may do it, the lines that it leaves, and how it is done."""
    fresh, secret = team.invite(username="fresh", email="", groups=["viewer"], by=Actor(user=who.admin))
    links = [secret]
    who.viewer.set_password(factories.PASSWORD)
    who.viewer.save()
    models.Review.objects.filter(pk=glass.pk).update(quorum=2)
    said = decisions.Answer(
        verdict="approve", revision=1, digest=glass.digest, token="glass", retype=breaking.retyped(glass),
        reason="Nobody else is here today.",
    )  # fmt: skip
    return {
        "breaking.release": (
            who.admin, ["review.approve", "review.broke_glass"], lambda by: breaking.release(glass.pk, said, by=by),
        ),
        "team.invite": (
            who.admin, ["person.added"], lambda by: team.invite(username="new", email="", groups=["viewer"], by=by),
        ),
        "team.new_link": (who.admin, ["person.link_made"], lambda by: links.append(team.new_link(fresh.pk, by=by)[1])),
        "team.join": (fresh, ["person.joined"], lambda by: team.join(secret=links[-1], password="a long one", by=by)),
        "team.set_groups": (
            who.admin, ["person.changed"], lambda by: team.set_groups(who.nobody.pk, ["viewer"], seen=[], by=by),
        ),
        "team.switch": (who.admin, ["person.changed"], lambda by: team.switch(who.nobody.pk, on=False, by=by)),
        "team.reset": (who.admin, ["person.changed"], lambda by: team.reset(who.viewer.pk, by=by)),
        "team.make_group": (who.admin, ["group.added"], lambda by: team.make_group("finance", by=by)),
        "team.set_scope": (
            who.admin, ["scope.set"], lambda by: team.set_scope("group viewer", ["receivables"], by=by),
        ),
        "standing_in.delegate": (
            who.reviewer,
            ["delegation.made"],
            lambda by: standing_in.delegate(who.reviewer.pk, who.admin.pk, until=tomorrow(), reason="Leave.", by=by),
        ),
        "standing_in.end": (
            who.reviewer,
            ["delegation.ended"],
            lambda by: standing_in.end(models.Delegation.objects.latest("pk").pk, by=by),
        ),
        "standing_in.add_shift": (
            who.admin,
            ["shift.made"],
            lambda by: standing_in.add_shift(
                group="reviewer", person_id=who.reviewer.pk, days="12345", starts=datetime.time(9),
                ends=datetime.time(17), since=datetime.date(2026, 1, 1), until=None, by=by,
            ),
        ),
        "standing_in.end_shift": (
            who.admin, ["shift.ended"], lambda by: standing_in.end_shift(models.Shift.objects.latest("pk").pk, by=by),
        ),
    }  # fmt: skip
