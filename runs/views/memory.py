"""What agents remember: for people to see, correct and take away."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from runs import models, rights
from runs.forms import decisions
from runs.selectors import agents_page, memory_page
from runs.transitions import memory as transitions
from runs.transitions import refusals
from runs.views import doors


@require_safe
@doors.allowed(rights.Act.VIEW)
def memory(request: doors.Request, name: str) -> HttpResponse:
    """List an agent's notes."""
    return _draw(request, _agent(request, name))


@require_POST
@doors.allowed(rights.Act.MEMORY)
def change(request: doors.Request, name: str, note_id: int) -> HttpResponse:
    """Correct a note, or take it away; 422 and 409 keep what was typed."""
    agent, note = _agent(request, name), memory_page.find(note_id)
    if note is None or note.agent_id != agent.pk:
        raise Http404("There is no such note.")
    text = "" if request.POST.get("act") == "forget" else request.POST.get("text", "").replace("\r\n", "\n")
    reason, base = request.POST.get("reason", ""), decisions.number(request.POST.get("base", ""))
    draft = {"id": note.pk, "text": request.POST.get("text", ""), "reason": reason}
    try:
        version = transitions.change(note.pk, text, reason=reason, base=base, by=doors.actor(request))
    except refusals.Invalid as refusal:
        return _draw(request, agent, draft=draft | {"error": refusal.message}, status=422)
    except refusals.Stale as refusal:
        return _draw(request, agent, draft=draft | {"error": refusal.message}, status=409)
    messages.success(
        request, f"Version {version.number} of “{note.name}” is kept." if text else "Taken away."
    )
    return doors.lead(request, reverse("agent-memory", args=[agent.name]))


def _agent(request: doors.Request, name: str) -> models.Agent:
    row = agents_page.find(name, request.user)
    if row is None:
        raise Http404("There is no such agent.")
    return row


def _draw(
    request: doors.Request, agent: models.Agent, *, draft: dict[str, object] | None = None, status: int = 200
) -> HttpResponse:
    page = memory_page.page(agent, request.user, request.GET.dict())
    return render(request, "memory.html", {"section": "agents", "page": page, "draft": draft}, status=status)
