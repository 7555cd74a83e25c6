"""Asking again who somebody is: by password, code or passkey. Then what they had sent goes on, whole as it was."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY
from allauth.account.views import ReauthenticateView
from allauth.mfa.base.views import ReauthenticateView as CodeView
from allauth.mfa.webauthn.views import ReauthenticateWebAuthnView
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.generic.edit import FormView
from django_htmx.http import HttpResponseClientRedirect

from runs import rights
from runs.transitions import people, refusals, sessions
from runs.views import adapters, doors

WAYS = {
    "account_reauthenticate": "Use your password",
    "mfa_reauthenticate": "Use a code",
    "mfa_reauthenticate_webauthn": "Use a passkey",
}


def asked(request: doors.Request, refusal: refusals.Unproven) -> HttpResponse:
    """Return the way to the page that asks who they are; what was sent waits in the session until they have shown it.

    Passwords never wait: a form with one comes back to be filled in again. Who has neither password nor factor signs in
    again where they came from.
    """
    back = doors.came_from(request)
    waits = {"back": back, "why": refusal.message}
    following = request.get_full_path()
    if request.method == "POST":
        waits["request"], following = _sent(request), request.path
    request.session[STATE_SESSION_KEY] = waits
    ways = get_adapter().get_reauthentication_methods(request.user)
    place = f"{ways[0]['url'] if ways else reverse('prove-elsewhere')}?{urlencode({'next': following})}"
    return HttpResponseClientRedirect(place) if request.htmx else HttpResponseRedirect(place)


def _sent(request: doors.Request) -> str:
    """Return the request as the library takes it up again, as a plain form: without cookies and htmx's headers."""
    form = QueryDict(mutable=True)
    for name, values in request.POST.lists():
        if "password" not in name:
            form.setlist(name, values)
    dropped = ("HTTP_COOKIE", "HTTP_HX_", "HTTP_X_CSRF")
    meta = {
        name: value
        for name, value in request.META.items()
        if isinstance(value, str)
        and not name.startswith(dropped)
        and name.startswith(("HTTP_", "SERVER_", "REMOTE_"))
    }
    return json.dumps(
        {
            "path": request.path,
            "path_info": request.path_info,
            "META": meta,
            "GET": request.GET.urlencode(),
            "POST": form.urlencode(),
            "method": request.method,
            "scheme": request.scheme,
        }
    )


class _Asks:
    """What the three pages have in common."""

    request: doors.Request
    template_name = "sign_in/prove.html"
    how = ""

    def dispatch(self, request: doors.Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Ask somebody who is signed in."""
        return doors.allowed(rights.Act.VIEW)(super().dispatch)(request, *args, **kwargs)  # type: ignore[misc]

    def form_valid(self, form: Any) -> HttpResponse:
        """Note it, then go on with what waits."""
        how = (
            "recovery code"
            if getattr(form, "authenticator", None) and form.authenticator.type == "recovery_codes"
            else self.how
        )
        sessions.proved(self.request.session, how=how, by=doors.actor(self.request))  # type: ignore[arg-type]
        response: HttpResponse = super().form_valid(form)  # type: ignore[misc]  # of the library's view
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        """Ask again; 429 where the limit is reached."""
        many = any(adapters.TOO_MANY in found for found in form.errors.values())
        people.not_proved(
            self.request.user, code="too_many" if many else "wrong", by=doors.actor(self.request)
        )
        response: HttpResponse = FormView.form_invalid(self, form)  # type: ignore[arg-type]  # each of them is one
        response.status_code = 429 if many else 422
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return what the page needs: what waits, where else to go, and the other ways."""
        context = super().get_context_data(**kwargs)  # type: ignore[misc]
        waits = self.request.session.get(STATE_SESSION_KEY) or {}
        given = self.request.POST.get("next") or self.request.GET.get("next", "")
        ways = [
            (f"{reverse(name)}?{urlencode({'next': given})}", words)
            for name, words in WAYS.items()
            if any(
                way["url"] == reverse(name)
                for way in get_adapter().get_reauthentication_methods(self.request.user)
            )
            and self.request.path != reverse(name)
        ]
        more = {
            "how": self.how,
            "next": given,
            "ways": ways,
            "why": waits.get("why", ""),
            "back": waits.get("back", ""),
        }
        more["options"] = adapters.options(context)
        return {**context, "form": kwargs.get("form") or context["form"], **more}


class ByPassword(_Asks, ReauthenticateView):
    """Ask for the password."""

    how = "password"


class ByCode(_Asks, CodeView):
    """Ask for a code from the app, or a recovery code."""

    how = "code"


class ByPasskey(_Asks, ReauthenticateWebAuthnView):
    """Ask for a passkey."""

    how = "passkey"


@require_safe
@doors.allowed(rights.Act.VIEW)
def elsewhere(request: doors.Request) -> HttpResponse:
    """Ask who has neither password nor factor here to sign in again where they came from."""
    waits = request.session.get(STATE_SESSION_KEY) or {}
    more = {"how": "single sign-on", "why": waits.get("why", ""), "back": waits.get("back", "")}
    return render(request, "sign_in/prove.html", {"form": None, "ways": [], **more})
