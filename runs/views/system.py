"""Whether the site does its work, for who operates it."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs import access, live, rights
from runs.selectors import storage_page, system_page
from runs.views import doors


@require_safe
@doors.allowed(rights.Act.SYSTEM)
def system(request: doors.Request) -> HttpResponse:
    """Show how everything stands; the part that changes refreshes itself. 403 for who is limited to some agents."""
    access.whole(request.user, rights.Act.SYSTEM)
    page = system_page.page(doors.viewer(request), streams=live.streams())
    name = "system.html#state" if request.GET.get("part") == "state" else "system.html"
    return render(request, name, {"section": "system", "page": page})


@require_safe
@doors.allowed(rights.Act.SYSTEM)
def storage(request: doors.Request) -> HttpResponse:
    """Show what fills the database, and how fast. 403 for who is limited to some agents."""
    access.whole(request.user, rights.Act.SYSTEM)
    return render(request, "storage.html", {"section": "system", "page": storage_page.page()})
