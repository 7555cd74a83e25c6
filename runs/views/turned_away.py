"""Who is turned away at a page is written down among the refused attempts."""

from __future__ import annotations

import structlog
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest

from runs import access, models
from runs.transitions import attempts, refusals
from runs.transitions.actor import Actor
from runs.views import doors

log = structlog.get_logger(__name__)
_UNSAID = frozenset({"form", "secret", "token"})
"""Parts of an address that name nothing, or are a link's secret: who reads the trail must not get in with it."""
_CODES: dict[type, str] = {
    access.Forbidden: "not_yours",
    access.NoGroup: "no_group",
    access.NotThere: "not_there",
}


def noted(request: HttpRequest, refusal: Exception | str, *, code: str = "forged") -> None:
    """Write down that somebody was turned away at a page, unless the transition that refused it has done so.

    A database that is away keeps nobody from hearing why they were turned away.
    """
    route = request.resolver_match
    name = f"page.{route.url_name}" if route and route.url_name else "page"
    keys = route.kwargs if route else {}
    subject = next(
        (f"{key.removesuffix('_id')} {value}" for key, value in keys.items() if key not in _UNSAID), name
    )
    user = getattr(request, "user", None)
    by = Actor(user=user if isinstance(user, models.User) else None, ip=doors.address(request))
    try:
        if isinstance(refusal, refusals.Refused):
            attempts.of_refused(refusal, act=name, subject=subject, by=by)
        else:
            code = _CODES.get(type(refusal), code)
            attempts.note(name, code=code, reason=str(refusal), subject=subject, by=by)
    except (OperationalError, InterfaceError) as error:
        log.warning("refusal_not_kept", act=name, error=f"{type(error).__name__}: {error}")
