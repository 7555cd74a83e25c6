"""Error pages, whole for a page and as a fragment for htmx. None of them needs the database."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template import loader

from ckptsite import logs
from runs import access, problems
from runs.transitions import refusals
from runs.views import turned_away

RETRY_AFTER = "3"
AWAY = (OperationalError, InterfaceError)
"""The database is away, or didn't answer in time."""


SENTENCES: dict[int, str] = {
    404: "There is nothing at this address.",
    405: "This address takes no requests of this kind.",
    500: "The server made a mistake, and it has been noted. Repeat the request with the same Idempotency-Key.",
    503: "The database is away. Repeat the request with the same Idempotency-Key.",
}
"""What a program is told where a page would say more."""


def draw(request: HttpRequest, status: int, *, sentence: str = "", template: str = "") -> HttpResponse:
    """Return the error page of a status; to htmx only its box, to a program a problem document.

    A fault of ours carries the id of the request, which its log lines have too.
    """
    quoted = logs.request_id() if status >= 500 else ""
    if problems.concerns(request.path):
        said = sentence or SENTENCES.get(status, "This request can't be answered.")
        return problems.response(status, said, more={"request": quoted} if quoted else None)
    fragment = bool(getattr(request, "htmx", False))
    context = {
        "request": request,
        "sentence": sentence,
        "fragment": fragment,
        "quoted": quoted,
        "error_shell": "_shared/error_fragment.html" if fragment else "base_bare.html",
    }
    text = loader.render_to_string(template or f"{status}.html", context)
    return HttpResponse(text, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400."""
    return draw(request, 400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403, with the sentence that says who may."""
    return draw(request, 403, sentence=str(exception) if isinstance(exception, access.Forbidden) else "")


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: not there, or not to be seen by this person."""
    page = not getattr(request, "htmx", False) and not problems.concerns(request.path)
    if isinstance(exception, access.NoGroup) and page:
        return render(request, "no_group.html", {"sentence": str(exception)}, status=404)
    known = isinstance(exception, access.NoGroup) or (
        isinstance(exception, Http404) and str(exception).startswith("There is no ")
    )
    return draw(request, 404, sentence=str(exception) if known else "")


def server_error(request: HttpRequest) -> HttpResponse:
    """500; 503 when the cause is that the database is away."""
    if isinstance(sys.exc_info()[1], AWAY):
        return unavailable(request)
    return draw(request, 500)


def unavailable(request: HttpRequest) -> HttpResponse:
    """503 with a time to come back."""
    response = draw(request, 503)
    response["Retry-After"] = RETRY_AFTER
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form without its token."""
    turned_away.noted(request, "The form didn't come from a page of this site.")
    return draw(request, 403, template="403_csrf.html")


def too_many(request: HttpRequest, wait: int = 60) -> HttpResponse:
    """429 with the seconds to wait."""
    response = draw(request, 429, sentence=f"Please wait {wait} seconds.")
    response["Retry-After"] = str(wait)
    return response


def token_on_page(request: HttpRequest) -> HttpResponse:
    """403 for a token that was sent to a page."""
    return draw(request, 403, sentence="A token opens the API only. Pages are for people who sign in.")


def refused(request: HttpRequest, refusal: refusals.Refused) -> HttpResponse:
    """Return the page of a refused act: whose it is (403), what doesn't fit (422), or what was faster (409)."""
    status = {refusals.NotYours: 403, refusals.Invalid: 422}.get(type(refusal), 409)
    return draw(request, status, sentence=refusal.message)
