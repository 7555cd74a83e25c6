"""Where one is signed in, and ending it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from runs import rights
from runs.selectors import security_page
from runs.transitions import sessions as transitions
from runs.views import doors


@require_safe
@doors.allowed(rights.Act.VIEW)
def sessions(request: doors.Request) -> HttpResponse:
    """Every browser that one is signed in with."""
    page = security_page.sessions(doors.viewer(request), here=doors.actor(request).session)
    return render(request, "settings/sessions.html", {"section": "settings", "page": page})


@require_POST
@doors.allowed(rights.Act.VIEW)
def end(request: doors.Request) -> HttpResponse:
    """End one, or with `which=others` all but this one, at once."""
    which, by = request.POST.get("which", ""), doors.actor(request)
    if which == "others":
        count = transitions.end_others(by=by)
        words = "1 other session is over." if count == 1 else f"{count} other sessions are over."
    else:
        transitions.end(which, by=by)
        words = "The session is over. Whoever sits there has to sign in again."
    messages.success(request, words)
    return doors.lead(request, reverse("sessions"))
