"""People, runs that wait, and what must not have changed after an attack."""

from __future__ import annotations

from typing import Any

from runs import models
from tests.api.conftest import give
from tests.engine.conftest import fresh_world
from tests.engine.world import World
from tests.pages.conftest import as_, empty_cache, house, who

__all__ = ["as_", "empty_cache", "fresh_world", "give", "house", "who"]


def standing() -> dict[str, Any]:
    """Return everything that an attacker could want to move: what was decided, started, released, and who may what."""
    installation = models.Installation.objects.get(pk=1)
    return {
        "decisions": models.Decision.objects.count(),
        "reviews": list(
            models.Review.objects.order_by("pk").values_list("pk", "status", "votes", "quorum", "tier")
        ),
        "runs": list(
            models.Run.objects.order_by("pk").values_list("pk", "status", "hold_by", "stop_at", "inbox")
        ),
        "effects": (len(World.effects()), models.Occurrence.objects.count()),
        "policy": (installation.policy_version_id, dict(installation.switches)),
        "people": sorted(models.User.objects.values_list("username", "is_superuser", "groups__name")),
        "audit": models.AuditEvent.objects.exclude(act="person.signed_in").count(),
    }
