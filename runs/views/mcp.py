"""What MCP servers offer, and its acceptance."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from runs import access, rights
from runs.mcp import servers
from runs.selectors import mcp_page
from runs.transitions import mcp as transitions
from runs.views import doors


@require_safe
@doors.allowed(rights.Act.VIEW)
def mcp(request: doors.Request) -> HttpResponse:
    """List the tools of each server."""
    page = mcp_page.page(request.user.roles(), named=_named())
    template = "mcp.html#servers" if request.GET.get("part") == "servers" else "mcp.html"
    return render(request, template, {"section": "mcp", "page": page})


@require_POST
@doors.allowed(rights.Act.TOOLS)
def accept(request: doors.Request, tool_id: int) -> HttpResponse:
    """Let agents call a tool as it was shown; 409 where its server says something else by now."""
    tool = access.mcp_tool_for(request.user, tool_id)
    row = transitions.accept(tool.pk, digest=request.POST.get("digest", ""), by=doors.actor(request))
    messages.success(request, f"Agents may call {row.name} of {row.server} as it is described now.")
    return doors.lead(request, f"{reverse('mcp')}#t{row.pk}")


@require_POST
@doors.allowed(rights.Act.TOOLS)
def look(request: doors.Request, server: str) -> HttpResponse:
    """Have a server asked what it offers now; the page shows what came of it."""
    if server not in _named():
        raise access.NotThere
    transitions.ask_look(server, by=doors.actor(request))
    return doors.lead(request, f"{reverse('mcp')}#s-{server}")


def _named() -> tuple[str, ...]:
    """Return the servers in the file, none where it can't be read: the shell says what is wrong with it."""
    try:
        return tuple(servers.everything())
    except servers.BadServers:
        return ()
