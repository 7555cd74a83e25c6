"""Pages leave the house compressed; a stream never does, since its events must not wait for more of it."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class PagesMiddleware(GZipMiddleware):
    """Django's own, which adds a random length against guessing at secrets; files come compressed already."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Return the page compressed, if the browser takes it so."""
        kind = response.get("Content-Type", "").partition(";")[0]
        if response.streaming or not (kind.startswith("text/") or kind == "application/json"):
            return response
        return super().process_response(request, response)
