"""How often one person, and one address, may ask for pages. The API counts by token, signing in by wrong tries."""

from __future__ import annotations

import math
import time

from django.conf import settings
from django.http import HttpRequest

from runs import models
from runs.forms import rates
from runs.views import doors, turned_away

MINUTE = 60
_FREE = ("healthz", "readyz", "events")  # asked by supervisors; one long request


def wait(request: HttpRequest) -> int:
    """Return for how many seconds whoever asks has to wait; 0 lets them in. The first time of each minute is noted."""
    route = request.resolver_match
    if route is not None and route.url_name in _FREE:
        return 0
    now = time.time()
    window = int(now // MINUTE)
    user = getattr(request, "user", None)
    limits = [(f"address:{doors.address(request)}", settings.CKPTSITE_ADDRESS_RATE)]
    if isinstance(user, models.User):
        limits.append((f"person:{user.pk}", settings.CKPTSITE_PAGE_RATE))
    for name, most in limits:
        count = rates.counted(f"page-{name}:{window}", MINUTE)
        if count > most:
            if count == most + 1:
                turned_away.noted(request, f"More than {most} requests in a minute.", code="too_many")
            return math.ceil(MINUTE - now % MINUTE)
    return 0
