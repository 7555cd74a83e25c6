"""Further scenes of what people do: what administrators keep for everybody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runs import models
from runs.transitions import limits, mcp, secrets
from runs.transitions.actor import Actor
from tests import factories

Scene = tuple[models.User, list[str], Callable[[Actor], Any]]


def scenes(who: factories.People) -> dict[str, Scene]:
    """For each act: who may do it, the lines that it leaves, and how it is done."""
    uses = [("*", "email.send")]
    described: dict[str, Any] = {
        "title": "",
        "description": "",
        "input": {},
        "output": None,
        "annotations": {},
    }
    (offered,) = mcp.seen("odd", {"note": described}, by=Actor(user=None, channel="shell"))
    return {
        "mcp.accept": (
            who.admin,
            ["mcp.accepted"],
            lambda by: mcp.accept(offered.pk, digest=offered.digest, by=by),
        ),
        "limits.set_limits": (
            who.admin,
            ["budget.set"],
            lambda by: limits.set_limits("all", {"calls": 900}, reason="Enough.", base=0, by=by),
        ),
        "secrets.set_secret": (
            who.admin,
            ["secret.set"],
            lambda by: secrets.set_secret("crm", "0123456789", uses=uses, by=by),
        ),
        "secrets.rotate": (who.admin, ["secrets.rotated"], lambda by: secrets.rotate(by=by)),
        "secrets.remove": (who.admin, ["secret.removed"], lambda by: secrets.remove("crm", by=by)),
    }
