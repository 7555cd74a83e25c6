"""Answers that hold for every page: a refusal is a page, a database that is away is 503, nothing is cached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog
from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from runs import access, problems
from runs.transitions import refusals, sessions, tokens
from runs.views import doors, errors, factors, limits, proofs, turned_away

log = structlog.get_logger(__name__)


class PageMiddleware:
    """Works for both kinds of servers; the stream is only passed through."""

    sync_capable = True
    async_capable = True

    def __init__(
        self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]
    ) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        response = self.get_response(request)
        if isinstance(response, HttpResponseBase):
            return _finished(request, response)

        async def later() -> HttpResponseBase:
            return _finished(request, await response)

        return later()

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponse | None:
        """Turn away who asks too often, and a program that has sent its token to a page: no page takes it in.

        Of a person it is noted that they are there. Who needs a second factor is led to it.
        """
        if (wait := limits.wait(request)) and not problems.concerns(request.path):
            return errors.too_many(request, wait)
        if problems.concerns(request.path) or settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return self._turned_away(request)
        if not doors.refreshes(request):  # type: ignore[arg-type]  # nobody's name is asked for
            sessions.seen(request.session)  # type: ignore[arg-type]  # ours, by the settings
        return self._turned_away(request) or factors.missing(request)

    @staticmethod
    def _turned_away(request: HttpRequest) -> HttpResponse | None:
        token = request.headers.get("Authorization", "").partition(" ")[2].strip()
        if not token.startswith(tokens.MARK) or problems.concerns(request.path):
            return None
        turned_away.noted(request, "A token was sent to a page.")
        return errors.token_on_page(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Turn what a transition refused, and a database that is away, into their pages."""
        if isinstance(exception, (refusals.Refused, access.Forbidden, access.NoGroup)) or (
            isinstance(exception, access.NotThere) and request.method == "POST"  # not each old link
        ):
            turned_away.noted(request, exception)
        if isinstance(exception, access.Erased):
            return errors.draw(request, 410, sentence=str(exception))
        if isinstance(exception, refusals.Unproven):
            return proofs.asked(request, exception)  # type: ignore[arg-type]  # only a signed-in person is refused so
        if isinstance(exception, refusals.Refused):
            return errors.refused(request, exception)
        if isinstance(exception, errors.AWAY):
            log.warning("database_away", path=request.path, error=f"{type(exception).__name__}: {exception}")
            return errors.unavailable(request)
        return None


def _finished(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Return the answer as it leaves: a page also where Django's own is empty, and in no cache."""
    bare = problems.concerns(request.path) or not getattr(response, "content", b"")
    if response.status_code == 405 and isinstance(response, HttpResponse) and bare:
        page = errors.draw(request, 405)
        page["Allow"] = response.get("Allow", "")
        response = page
    return _kept_out_of_caches(response)


def _kept_out_of_caches(response: HttpResponseBase) -> HttpResponseBase:
    if not response.has_header("Cache-Control"):
        response["Cache-Control"] = "no-store"
    patch_vary_headers(response, ["HX-Request"])
    return response
