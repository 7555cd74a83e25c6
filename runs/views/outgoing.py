"""Whom the installation tells, and what did not get through: for administrators."""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from runs import access, hints, models, rights, telling
from runs.forms import decisions
from runs.forms import notices as forms
from runs.notices import webhooks
from runs.selectors import outgoing as selectors
from runs.selectors import review_models
from runs.transitions import endpoints, notices, refusals, slack_links
from runs.views import doors


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.NOTICES)
def outgoing(request: doors.Request) -> HttpResponse:
    """Show endpoints and what failed; a POST makes an endpoint and shows its secret on this one answer."""
    if request.method != "POST":
        return _draw(request, forms.blank())
    given = forms.read_endpoint(request.POST)
    if given.errors:
        return _draw(request, given, status=422)
    try:
        row = endpoints.create(
            given.url, about=given.about, kinds=given.kinds, form=given.form, by=doors.actor(request)
        )
    except refusals.Invalid as refusal:
        return _draw(request, replace(given, errors={"": refusal.message}), status=422)
    except refusals.Stale as refusal:
        return _draw(request, replace(given, form=forms.blank().form), conflict=refusal.message, status=409)
    return _draw(request, forms.blank(), made=row)


@require_POST
@doors.allowed(rights.Act.NOTICES)
def act(request: doors.Request, endpoint_id: int) -> HttpResponse:
    """Test an endpoint, give it a new secret, or switch it off or on."""
    row, by, what = (
        access.endpoint_for(request.user, endpoint_id),
        doors.actor(request),
        request.POST.get("what"),
    )
    if what == "rotate":
        generation = decisions.number(request.POST.get("generation", ""))
        try:
            return _draw(request, forms.blank(), made=endpoints.rotate(row.pk, generation=generation, by=by))
        except refusals.Stale as refusal:
            return _draw(request, forms.blank(), conflict=refusal.message, status=409)
    if what == "test":
        notices.try_out(telling.WEBHOOK, endpoint=row.pk, by=by)
        hints.deliver_now()
        messages.success(request, "A test is on its way; if it isn't taken, it shows below.")
    elif what in {"on", "off"}:
        endpoints.switch(row.pk, enabled=what == "on", by=by)
        messages.success(request, "It is told again." if what == "on" else "It is told nothing any more.")
    else:
        return _draw(request, forms.blank(), conflict="Choose what to do with it.", status=422)
    return doors.lead(request, reverse("outgoing"))


@require_POST
@doors.allowed(rights.Act.NOTICES)
def again(request: doors.Request, delivery_id: int) -> HttpResponse:
    """Let what was given up be tried anew."""
    try:
        notices.send_again(delivery_id, by=doors.actor(request))
    except refusals.Stale as refusal:
        return _draw(request, forms.blank(), conflict=refusal.message, status=409)
    messages.success(request, "It is tried again, under the same event id.")
    return doors.lead(request, reverse("outgoing"))


@require_POST
@doors.allowed(rights.Act.NOTICES)
def member(request: doors.Request) -> HttpResponse:
    """Say whose Slack account is whose, or end that."""
    person = decisions.number(request.POST.get("person", ""))
    if "end" in request.POST:
        slack_links.unlink(person, by=doors.actor(request))
        return doors.lead(request, reverse("outgoing"))
    try:
        wanted = request.POST.get("member", "").strip()
        slack_links.link(person, team=settings.SLACK_TEAM, member=wanted, by=doors.actor(request))
    except refusals.Invalid as refusal:
        given = replace(forms.blank(), errors={"member": refusal.message})
        return _draw(request, given, status=422)
    return doors.lead(request, reverse("outgoing"))


def _draw(
    request: doors.Request,
    given: forms.Pointed,
    *,
    made: models.Endpoint | None = None,
    conflict: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "section": "settings",
        "page": selectors.page(request.GET.dict()),
        "form": given,
        "made": {"url": made.url, "secret": webhooks.secret_of(made)} if made is not None else None,
        "conflict": review_models.Conflict(sentence=conflict) if conflict else None,
        "typed": request.POST,
    }
    return doors.whole(request, render(request, "outgoing.html", context, status=status))
