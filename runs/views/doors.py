"""What stands before a view: sign-in and right; and who is at the door, for the transitions."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import resolve_url
from django_htmx.http import HttpResponseClientRedirect, HttpResponseLocation, reselect, reswap, retarget
from django_htmx.middleware import HtmxDetails

from runs import access, models, rights
from runs.selectors import deciding
from runs.transitions.actor import Actor

NEVER = datetime.datetime.min.replace(tzinfo=datetime.UTC)


class Request(HttpRequest):
    """A request of a signed-in person, as views get it."""

    htmx: HtmxDetails
    user: models.User  # `allowed` has turned everybody else away


def allowed(
    act: rights.Act,
) -> Callable[[Callable[..., HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """Let in who is signed in and may do `act`; the others get the sign-in page, a 404 or a 403, in this order."""

    def wrap(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def inner(request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return to_login(request)
            access.require(request.user, act)
            return view(request, *args, **kwargs)

        return inner

    return wrap


def to_login(request: Request) -> HttpResponse:
    """Return the way to the sign-in page: for an act in a page the whole page goes there, and comes back afterwards.

    A part that only refreshes itself gets a 401: the page says so in place, since somebody may be typing in it.
    """
    if refreshes(request):
        response = HttpResponse(status=401)
        response["HX-Reswap"] = "none"
        return response
    back = came_from(request)
    if request.htmx:
        return HttpResponseClientRedirect(f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': back})}")
    return redirect_to_login(back)


def refreshes(request: Request) -> bool:
    """Return whether a part of a page asks by itself for its newest state: nobody need sit before it."""
    return bool(request.htmx) and request.method == "GET" and "part" in request.GET


def came_from(request: Request) -> str:
    """Return the page that somebody sees: a form's own address may take nothing but forms."""
    if request.htmx:
        return _own(request, request.htmx.current_url or "")
    if request.method in {"GET", "HEAD"}:
        return request.get_full_path()
    return _own(request, request.headers.get("Referer", ""))


def _own(request: HttpRequest, address: str) -> str:
    """Return the path of an address of this site, or the inbox for any other."""
    parts = own_parts(request, address)
    if parts is None:
        return resolve_url(settings.LOGIN_REDIRECT_URL)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def own_parts(request: HttpRequest, address: str) -> SplitResult | None:
    """Return the parts of an address that a browser names, if it leads to this site and its path does too."""
    try:
        parts = urlsplit(address)
    except ValueError:  # no address at all, such as "http://["
        return None
    leads_here = parts.netloc == request.get_host() and parts.path.startswith("/")
    return parts if leads_here and not parts.path.startswith(("//", "/\\")) else None


def viewer(request: Request) -> deciding.Viewer:
    """Return who looks, with the roles that the request has read."""
    return deciding.Viewer(user=request.user, roles=access.roles(request.user))


def actor(request: Request) -> Actor:
    """Return who acts, from where, and in which session; without a row, as in no page, nothing final is theirs."""
    session = getattr(request.session, "row", None) or models.Session(proved_at=NEVER)
    return Actor(user=request.user, channel="page", ip=address(request), session=session)


def address(request: HttpRequest) -> str | None:
    """Return the caller's address, or None where the server gives none."""
    return request.META.get("REMOTE_ADDR") or None


def lead(request: Request, address: str) -> HttpResponse:
    """Lead on after a change: a 303 without htmx, never one with it."""
    if request.htmx:
        return HttpResponseLocation(address)
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response


def whole(request: Request, response: HttpResponse) -> HttpResponse:
    """Return a page that htmx puts in the place of the whole one, whatever the form that asked would replace."""
    return reswap(reselect(retarget(response, "#main"), "#main"), "outerHTML") if request.htmx else response
