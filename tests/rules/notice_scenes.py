"""The acts of people about notices: who may do each, the lines that it leaves, and how it is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runs import models
from runs.transitions import endpoints, notices, slack_links
from runs.transitions.actor import Actor
from tests import factories


def scenes(
    who: factories.People, token: Callable[[], str]
) -> dict[str, tuple[models.User, list[str], Callable[[Actor], Any]]]:
    """Return them by name."""
    endpoint = endpoints.create(
        "https://one.example/", about="", kinds=[], form=token(), by=Actor(user=who.admin)
    )
    notice = models.Notice.objects.create(kind="test")
    dead = models.Delivery.objects.create(notice=notice, channel="webhook", target="x", status="dead")
    slack_links.link(who.auditor.pk, team="T01", member="U01", by=Actor(user=who.admin))
    return {
        "endpoints.create": (
            who.admin,
            ["endpoint.created"],
            lambda by: endpoints.create("https://two.example/", about="", kinds=[], form=token(), by=by),
        ),
        "endpoints.rotate": (
            who.admin, ["endpoint.rotated"], lambda by: endpoints.rotate(endpoint.pk, generation=1, by=by),
        ),
        "endpoints.switch": (
            who.admin, ["endpoint.off"], lambda by: endpoints.switch(endpoint.pk, enabled=False, by=by),
        ),
        "notices.send_again": (who.admin, ["delivery.sent_again"], lambda by: notices.send_again(dead.pk, by=by)),
        "notices.try_out": (who.admin, ["notice.tested"], lambda by: notices.try_out("webhook", by=by)),
        "slack_links.code": (who.operator, ["slack.code_made"], lambda by: slack_links.code(by=by)),
        "slack_links.link": (
            who.admin, ["slack.linked"], lambda by: slack_links.link(who.operator.pk, team="T01", member="U02", by=by),
        ),
        "slack_links.unlink": (who.admin, ["slack.unlinked"], lambda by: slack_links.unlink(who.auditor.pk, by=by)),
    }  # fmt: skip
