"""What is paused for everybody: everything, an agent, a tool."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from runs import access, rights
from runs.selectors import switched
from runs.transitions import refusals
from runs.transitions import switches as transitions
from runs.views import doors


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.VIEW)
def switches(request: doors.Request) -> HttpResponse:
    """List what is paused; a POST pauses or lets go on, and is acknowledged when it is in force."""
    if request.method != "POST":
        return _draw(request, what=request.GET.get("what", ""))
    access.require(request.user, rights.Act.SWITCH)
    what, reason = request.POST.get("what", ""), request.POST.get("reason", "")
    on = bool(request.POST.get("on"))
    try:
        transitions.throw(what, on, by=doors.actor(request), reason=reason)
    except refusals.Invalid as refusal:
        return _draw(request, what=what, reason=reason, error=refusal.message, status=422)
    messages.success(request, "Paused. Nothing of it starts any more." if on else "Lifted. It goes on.")
    return doors.lead(request, reverse("switches"))


def _draw(
    request: doors.Request, *, what: str = "", reason: str = "", error: str = "", status: int = 200
) -> HttpResponse:
    board = switched.board(doors.viewer(request))
    context = {"section": "switches", "board": board, "what": what, "reason": reason[:2000], "error": error}
    return render(request, "switches.html", context, status=status)
