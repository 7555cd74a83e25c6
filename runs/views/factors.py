"""Security settings: one's password, and what is shown beside it: codes of an app, recovery codes, passkeys."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from allauth.account.views import PasswordChangeView
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.views import AddWebAuthnView, RemoveWebAuthnView
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from runs import access, models, rights
from runs.selectors import security_page
from runs.transitions import clock_time, people, proofs
from runs.views import adapters, doors

ADDED, REMOVED, CODES = "person.factor_added", "person.factor_removed", "person.codes_made"
FREE = frozenset(
    {"mfa_index", "mfa_activate_totp", "mfa_add_webauthn", "mfa_view_recovery_codes", "account_change_password",
     "account_reauthenticate", "mfa_reauthenticate", "mfa_reauthenticate_webauthn", "prove-elsewhere", "logout"}
)  # fmt: skip
"""Pages that somebody without the second factor that they need may open: they lead to one."""


@require_safe
@doors.allowed(rights.Act.VIEW)
def security(request: doors.Request) -> HttpResponse:
    """What one signs in with."""
    row = doors.actor(request).session
    needed = row is not None and proofs.lacks_factor(row.strong, doors.viewer(request).roles)
    page = security_page.factors(doors.viewer(request))
    host = request.get_host().partition(":")[0]
    context = {"section": "settings", "page": page, "needed": needed, "passkeys": not host[-1:].isdigit()}
    return render(request, "settings/security.html", context)


def missing(request: HttpRequest) -> HttpResponse | None:
    """Return the way to the security page for who needs a second factor first; None for everybody else."""
    route, row = request.resolver_match, getattr(request.session, "row", None)
    if row is None or row.strong or not isinstance(request.user, models.User):
        return None
    if (route and route.url_name in FREE) or not proofs.lacks_factor(row.strong, access.roles(request.user)):
        return None
    return HttpResponseRedirect(f"{reverse('mfa_index')}?{urlencode({'needed': '1'})}")


class _Changes:
    """What the pages that change a factor have in common: a recent proof, and a line in the audit trail."""

    request: doors.Request
    act = ADDED
    factor = ""

    def dispatch(self, request: doors.Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Let in who has lately shown who they are; what was sent waits until then."""
        if request.user.is_authenticated:
            proofs.check_page(doors.actor(request), clock_time.now())
        return doors.allowed(rights.Act.VIEW)(super().dispatch)(request, *args, **kwargs)  # type: ignore[misc]

    def form_valid(self, form: Any) -> HttpResponse:
        """Change it, and say so in the same transaction."""
        by = doors.actor(self.request)
        with people.changing_factors(self.request.user, self.act, factor=self.factor, by=by):
            response: HttpResponse = super().form_valid(form)  # type: ignore[misc]  # of the library's view
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        """Say what is wrong, with what was typed."""
        response: HttpResponse = super().form_invalid(form)  # type: ignore[misc]
        response.status_code = 422
        return response


class AddApp(_Changes, ActivateTOTPView):
    """Set up an app that shows codes."""

    template_name = "settings/factor_app.html"
    factor = "code"


class RemoveApp(_Changes, DeactivateTOTPView):
    """Take it away, by a form on the security page."""

    act, factor = REMOVED, "code"

    def get(self, *args: Any, **kwargs: Any) -> HttpResponse:
        """Lead to the page with the form."""
        return HttpResponseRedirect(reverse("mfa_index"))


class AddPasskey(_Changes, AddWebAuthnView):
    """Set up a passkey."""

    template_name = "settings/factor_passkey.html"
    factor = "passkey"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return what the page needs: also what the browser has to sign, and what was wrong with what was sent."""
        context = {**super().get_context_data(**kwargs), **kwargs}
        return {**context, "options": adapters.options(context)}


class RemovePasskey(_Changes, RemoveWebAuthnView):
    """Take it away; only by a form on the security page."""

    act, factor = REMOVED, "passkey"
    http_method_names = ["post"]

    def get_success_url(self) -> str:
        """Return the security page."""
        return reverse("mfa_index")


class MakeCodes(_Changes, GenerateRecoveryCodesView):
    """Make new recovery codes; the old ones are worth nothing then."""

    act, factor = CODES, "recovery code"
    http_method_names = ["post"]

    def form_invalid(self, form: Any) -> HttpResponse:
        """Lead back: there is nothing yet that codes could stand in for."""
        return doors.lead(self.request, reverse("mfa_index"))


class Codes(_Changes, ViewRecoveryCodesView):
    """Show the recovery codes that are left."""

    template_name = "settings/factor_codes.html"


class Password(PasswordChangeView):
    """Choose a new password; every other session ends."""

    template_name = "settings/password.html"

    def dispatch(self, request: doors.Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Let in who has a password here."""
        if request.user.is_authenticated and not request.user.has_usable_password():
            raise Http404("There is no password of yours here: you sign in elsewhere.")
        return doors.allowed(rights.Act.VIEW)(super().dispatch)(request, *args, **kwargs)

    def form_invalid(self, form: Any) -> HttpResponse:
        """Say what is wrong."""
        response: HttpResponse = super().form_invalid(form)
        response.status_code = 422
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        """Say that it is done."""
        response: HttpResponse = super().form_valid(form)
        messages.success(self.request, "You have a new password. You are signed out everywhere else.")
        return response

    def get_success_url(self) -> str:
        """Return the security page."""
        return reverse("mfa_index")
