"""Is this process alive, and does the site get its work done? Asked by supervisors and load balancers."""

import secrets
import threading
import time

from django.conf import settings
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from runs import live
from runs.selectors import exposition, gauges, readiness, storage

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


@never_cache
@require_safe
def metricsz(request: HttpRequest) -> HttpResponse:
    """The site's figures for Prometheus, to who has the token; there is no such page where none is set.

    503 when the database doesn't answer.
    """
    wanted = settings.CKPTSITE_METRICS_TOKEN
    if not wanted:
        raise Http404
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not secrets.compare_digest(given.encode(), wanted.encode()):
        return HttpResponse("A token is needed.\n", status=401, headers={"WWW-Authenticate": "Bearer"})
    try:
        told = exposition.text(gauges.look(), storage.look(), streams=live.streams())
        return HttpResponse(told, content_type=exposition.TYPE)
    except DatabaseError:
        return HttpResponse("The database doesn't answer.\n", status=503, content_type="text/plain")


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
