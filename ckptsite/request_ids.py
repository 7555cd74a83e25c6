"""An id for each request: in its log lines, in its answer, and on the page of a fault, for people to quote."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from ckptsite import logs

HEADER = "X-Request-ID"
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
            with logs.about(request=name):
                answer = self.get_response(request)
            assert isinstance(answer, HttpResponseBase)
            answer[HEADER] = name
            return answer

        async def later() -> HttpResponseBase:
            with logs.about(request=name):
                found = self.get_response(request)
                answer = found if isinstance(found, HttpResponseBase) else await found
            answer[HEADER] = name
            return answer

        return later()
