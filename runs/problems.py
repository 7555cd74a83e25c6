"""Errors of the API as problem documents (RFC 9457)."""

from __future__ import annotations

import http
import json
from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse

ROOT = "/api/"
MEDIA_TYPE = "application/problem+json"


def response(
    status: int,
    detail: str,
    *,
    kind: str = "",
    more: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Return the answer: `detail` is one sentence for people, `kind` a word for programs, `more` what helps them."""
    body = {
        "type": f"urn:ckptsite:problem:{kind}" if kind else "about:blank",
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        **(more or {}),
    }
    return HttpResponse(json.dumps(body), status=status, content_type=MEDIA_TYPE, headers=dict(headers or {}))


def concerns(path: str) -> bool:
    """Return whether what goes wrong at this address is told as a problem document, never as a page."""
    return path.startswith(ROOT)
