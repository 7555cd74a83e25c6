"""What every template may use."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from runs import access, models
from runs.selectors import deciding
from runs.selectors import shell as shells


def shell(request: HttpRequest) -> dict[str, Any]:
    """Return `shell`, made when a template first asks for it: error pages must not need the database."""

    def make() -> object:
        user = getattr(request, "user", None)
        if not isinstance(user, models.User):
            return None
        return shells.shell(deciding.Viewer(user=user, roles=access.roles(user)))

    return {"shell": SimpleLazyObject(make)}
