"""Signing in, by a password and a second factor, by a passkey, or over an identity provider; and signing out."""

from __future__ import annotations

from typing import Any

from allauth.account.views import LoginView
from allauth.mfa.base.views import AuthenticateView
from allauth.mfa.webauthn.views import LoginWebAuthnView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_POST

from ckptsite import oidc
from runs import models
from runs.forms import accounts as forms
from runs.transitions import people, sessions
from runs.transitions.actor import Actor
from runs.views import adapters, doors


class SignIn(LoginView):
    """The library's view, with its limits on wrong tries; who came in and who didn't is in the audit trail."""

    form_class = forms.SignIn
    template_name = "sign_in/sign_in.html"

    def form_invalid(self, form: forms.SignIn) -> HttpResponse:
        """Draw the form again; 429 where the limit is reached."""
        response: HttpResponse = super().form_invalid(form)
        many = form.has_error("__all__", "too_many_login_attempts")
        name = str(form.data.get("username", ""))
        people.not_signed_in(name, code="too_many" if many else "wrong", ip=doors.address(self.request))
        if many:
            response.status_code = 429
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return what the page needs: also what the identity provider is called, where there is one."""
        apps = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"]
        given = self.request.POST.get("next") or self.request.GET.get("next", "")
        return {**super().get_context_data(**kwargs), "next": given, "sso": apps[0]["name"] if apps else ""}


class SecondFactor(AuthenticateView):
    """After the password: a code, or a passkey."""

    template_name = "sign_in/second_factor.html"

    def form_invalid(self, form: Any) -> HttpResponse:
        """Ask again; 429 where the limit is reached."""
        response: HttpResponse = super().form_invalid(form)
        many = any(adapters.TOO_MANY in found for found in form.errors.values())
        by = Actor(user=None, ip=doors.address(self.request))
        people.not_proved(self.stage.login.user, code="too_many" if many else "wrong", by=by)
        response.status_code = 429 if many else 422
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return what the page needs: also what a passkey has to sign, for who has one."""
        context = super().get_context_data(**kwargs)
        return {**context, "options": adapters.options(context)}


class Passkey(LoginWebAuthnView):
    """A passkey instead of name and password; a GET gives a browser what it has to sign."""

    def form_invalid(self, form: Any) -> HttpResponse:
        """Lead back to the sign-in page, which says that it didn't work."""
        people.not_signed_in("", code="wrong", ip=doors.address(self.request))
        messages.error(self.request, "This passkey isn't known here. Sign in another way.")
        return HttpResponseRedirect(reverse(settings.LOGIN_URL))


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End this session."""
    if isinstance(request.user, models.User):
        sessions.ended(request.user, by=Actor(user=request.user, ip=doors.address(request)))
    logout(request)
    return HttpResponseRedirect(reverse(settings.LOGIN_URL))


@require_POST
def single_sign_on(request: HttpRequest) -> HttpResponseBase:
    """Lead to the identity provider; 404 where there is none."""
    return _provider().login(request, oidc.PROVIDER)  # type: ignore[no-any-return]


def single_sign_on_back(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Take in who comes back from the identity provider; 404 where there is none of this name."""
    return _provider().callback(request, provider_id)  # type: ignore[no-any-return]


def _provider() -> Any:
    """Return the views of the OpenID Connect client, loaded when somebody first wants them: they are dear to load."""
    if not settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"]:
        raise Http404("There is no single sign-on here.")
    from allauth.socialaccount.providers import registry  # noqa: PLC0415
    from allauth.socialaccount.providers.openid_connect import provider, views  # noqa: PLC0415

    registry.register(provider.OpenIDConnectProvider)
    return views
