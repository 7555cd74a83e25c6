"""Is this process alive, and does the site get its work done? Asked by supervisors and load balancers."""

import threading
import time

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from runs.selectors import readiness

KEEP = 1.0
"""Seconds for which one look answers everybody who asks: nobody signs in for it, so asking often must cost nothing."""
_lock = threading.Lock()
_last: dict[str, tuple[float, readiness.Readiness]] = {}


@never_cache
@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    """200: this process answers. It asks nothing else, so that a database that is away restarts no process."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
@require_safe
def readyz(_request: HttpRequest) -> HttpResponse:
    """200 when every bar is met, else 503; in either case what was found, as JSON, and nothing of what the work is."""
    found = _looked()
    times = settings.CKPTSITE
    told = {
        "ready": found.ready,
        "database": {"ok": found.database},
        "oldest_due_run": {"ok": found.due, "seconds": _shown(found.due_seconds), "bar": times["READY_DUE"]},
        "clock": {"ok": found.clock, "seconds": _shown(found.clock_seconds), "bar": times["READY_CLOCK"]},
        "broker": {"ok": found.broker, "needed": readiness.broker_needed()},
    }
    return JsonResponse(told, status=200 if found.ready else 503)


def _looked() -> readiness.Readiness:
    """Return what was found at the last look, if that was just now."""
    with _lock:  # who comes meanwhile waits for the same look
        at, found = _last.get("", (float("-inf"), None))
        if found is None or time.monotonic() >= at + KEEP:
            found = readiness.find()
            _last[""] = time.monotonic(), found
        return found


def _shown(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
