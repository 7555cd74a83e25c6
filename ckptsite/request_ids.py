"""An id for each request: in its log lines, in its answer, and on the page of a fault, for people to quote."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from ckptsite import logs, traces

HEADER = "X-Request-ID"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_PLAIN = re.compile(r"[A-Za-z0-9._-]{8,64}\Z")

Answer = HttpResponseBase | Awaitable[HttpResponseBase]


class RequestIdMiddleware:
    """Takes over an id that the request brings, where it is plain; else makes one. Works for both kinds of servers."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Answer]) -> None:
        self.get_response = get_response
        self._waits = iscoroutinefunction(get_response)
        if self._waits:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Answer:
        brought = request.headers.get(HEADER, "")
        name = brought if _PLAIN.match(brought) else secrets.token_hex(8)
        if not self._waits:
            with logs.about(request=name), _span(request) as span:
                answer = self.get_response(request)
                assert isinstance(answer, HttpResponseBase)
                return _told(span, request, answer, name)

        async def later() -> HttpResponseBase:
            with logs.about(request=name), _span(request) as span:
                found = self.get_response(request)
                answer = found if isinstance(found, HttpResponseBase) else await found
                return _told(span, request, answer, name)

        return later()


def _span(request: HttpRequest) -> AbstractContextManager[traces.Span]:
    method = request.method if request.method in METHODS else "_OTHER"
    return traces.span(method, {"http.request.method": method}, kind="SERVER")


def _told(span: traces.Span, request: HttpRequest, answer: HttpResponseBase, name: str) -> HttpResponseBase:
    """Return the answer with its id; the span tells the pattern of the address, never the address."""
    answer[HEADER] = name
    span.set({"http.response.status_code": answer.status_code, "ckptsite.request": name})
    if request.resolver_match is not None:
        route = f"/{request.resolver_match.route}"
        span.set({"http.route": route})
        span.rename(f"{request.method} {route}")
    return answer
