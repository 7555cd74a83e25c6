"""A person's own pages: profile, and the tokens of their programs."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs import access, rights
from runs.forms import tokens as forms
from runs.selectors import review_models, settings_page
from runs.transitions import refusals
from runs.transitions import tokens as transitions
from runs.views import doors


@require_safe
@doors.allowed(rights.Act.VIEW)
def profile(request: doors.Request) -> HttpResponse:
    """Who one is here, and what one may do."""
    page = settings_page.profile(doors.viewer(request))
    return render(request, "settings/profile.html", {"section": "settings", "page": page})


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.VIEW)
def tokens(request: doors.Request) -> HttpResponse:
    """List the tokens; a POST makes one and shows its secret on this one answer."""
    if request.method != "POST":
        return _draw(request, forms.blank())
    given = forms.read(request.POST)
    if given.errors:
        return _draw(request, given, status=422)
    try:
        token, secret = transitions.create(
            name=given.name,
            kind=given.kind,
            acts=given.acts,
            days=given.days,
            form=given.form,
            by=doors.actor(request),
        )
    except refusals.Invalid as refusal:
        return _draw(request, replace(given, errors={"": refusal.message}), status=422)
    except refusals.Stale as refusal:
        conflict = review_models.Conflict(sentence=refusal.message)
        return _draw(request, replace(given, form=forms.blank().form), conflict=conflict, status=409)
    return _draw(request, forms.blank(), made={"name": token.name, "secret": secret})


@require_POST
@doors.allowed(rights.Act.VIEW)
def revoke(request: doors.Request, token_id: int) -> HttpResponse:
    """End a token at once; acknowledged when nothing starts any more on what was approved with it."""
    token = access.own_token(request.user, token_id)
    transitions.revoke(token.pk, by=doors.actor(request))
    messages.success(request, f"The token {token.prefix}… is revoked. It opens nothing any more.")
    everybody = "?of=everybody" if request.POST.get("of") == "everybody" else ""
    return doors.lead(request, reverse("tokens") + everybody)


def _draw(
    request: doors.Request,
    given: forms.Given,
    *,
    made: dict[str, str] | None = None,
    conflict: review_models.Conflict | None = None,
    status: int = 200,
) -> HttpResponse:
    page = settings_page.tokens(doors.viewer(request), request.GET.dict(), days=transitions.DAYS)
    context = {"section": "settings", "page": page, "form": given, "made": made, "conflict": conflict}
    return render(request, "settings/tokens.html", context, status=status)
