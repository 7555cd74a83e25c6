"""What one is told, and on which way: the list on these pages, and one's own choice."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs import access, hints, rights, telling
from runs.forms import decisions
from runs.forms import notices as forms
from runs.selectors import notices as selectors
from runs.transitions import notice_settings, refusals, slack_links
from runs.transitions import notices as transitions
from runs.views import doors


@require_safe
@doors.allowed(rights.Act.VIEW)
def told(request: doors.Request) -> HttpResponse:
    """List what one was told, the newest first."""
    page = selectors.told(doors.viewer(request), request.GET.dict())
    return render(request, "notices.html", {"section": "notices", "page": page})


@require_POST
@doors.allowed(rights.Act.VIEW)
def seen(request: doors.Request) -> HttpResponse:
    """Note that one has looked at all of it."""
    notice_settings.seen(decisions.number(request.POST.get("newest", "")), owner=request.user)
    return doors.lead(request, reverse("notices"))


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.VIEW)
def wishes(request: doors.Request) -> HttpResponse:
    """Show and change what one wants to be told."""
    if request.method != "POST":
        return _draw(request, forms.shown(selectors.wish_of(request.user)))
    given = forms.read(request.POST)
    if given.errors:
        return _draw(request, given, status=422)
    try:
        notice_settings.save(given.wish, owner=request.user)
    except refusals.Invalid as refusal:
        return _draw(request, given, error=refusal.message, status=422)
    messages.success(request, "Saved. It counts for whatever happens from now on.")
    return doors.lead(request, reverse("notifications"))


@require_POST
@doors.allowed(rights.Act.VIEW)
def try_out(request: doors.Request) -> HttpResponse:
    """Send oneself a notice on one way, through the same outbox as every other."""
    way = request.POST.get("way", "")
    if way not in telling.WAYS:
        return _draw(request, forms.shown(selectors.wish_of(request.user)), error="Choose a way.", status=422)
    transitions.try_out(way, endpoint=None, by=doors.actor(request))
    hints.deliver_now()
    messages.success(request, f"A test is on its way: {selectors.CHANNELS[way]}.")
    return doors.lead(request, reverse("notifications"))


@require_POST
@doors.allowed(rights.Act.VIEW)
def link(request: doors.Request) -> HttpResponse:
    """Make a code that links one's Slack account, shown on this one answer; or end the link."""
    if "end" in request.POST:
        slack_links.unlink(request.user.pk, by=doors.actor(request))
        messages.success(request, "Your Slack account is nobody here any more.")
        return doors.lead(request, reverse("notifications"))
    code = slack_links.code(by=doors.actor(request))
    return _draw(request, forms.shown(selectors.wish_of(request.user)), code=code)


def _draw(
    request: doors.Request, given: forms.Wished, *, error: str = "", code: str = "", status: int = 200
) -> HttpResponse:
    may = [access.may(request.user, act) for act in (rights.Act.DECIDE, rights.Act.ANSWER_FAILURE)]
    page = selectors.wishes(
        doors.viewer(request),
        given.wish,
        may_link=any(may),
        outgoing=access.may(request.user, rights.Act.NOTICES),
    )
    errors = {"": error} if error else given.errors
    context = {"section": "settings", "page": page, "form": given, "errors": errors, "code": code}
    return doors.whole(request, render(request, "settings/notifications.html", context, status=status))
