"""The tools: what each declares, who uses it and how it fares."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs import rights
from runs.selectors import tools_page
from runs.views import doors


@require_safe
@doors.allowed(rights.Act.VIEW)
def tools(request: doors.Request) -> HttpResponse:
    """List them by name."""
    return render(request, "tools.html", {"section": "tools", "page": tools_page.page(doors.viewer(request))})


@require_safe
@doors.allowed(rights.Act.VIEW)
def tool(request: doors.Request, name: str) -> HttpResponse:
    """Show one; 404 for a name that no tool has."""
    found = tools_page.detail(name, doors.viewer(request))
    if found is None:
        raise Http404(f"There is no tool {name!r}.")
    return render(request, "tool.html", {"section": "tools", "page": found, "tool": found.line})
