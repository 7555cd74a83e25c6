"""The pages of one run: timeline, plan, transcript, effects, usage, and one line of its log as it is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from runs import access, exact, models, rights
from runs.selectors import (
    deciding,
    run_effects,
    run_plan,
    run_timeline,
    run_transcript,
    run_usage,
)
from runs.views import doors

Select = Callable[[models.Run, deciding.Viewer, dict[str, str]], Any]


def _draw(request: doors.Request, run_id: int, template: str, select: Select) -> HttpResponse:
    run = access.run_for(request.user, run_id)
    page = select(run, doors.viewer(request), request.GET.dict())
    part = "#live" if request.GET.get("part") == "live" else ""
    return render(request, f"{template}{part}", {"section": "runs", "page": page})


@require_safe
@doors.allowed(rights.Act.VIEW)
def timeline(request: doors.Request, run_id: int) -> HttpResponse:
    """What happened, newest first."""
    return _draw(request, run_id, "run/timeline.html", run_timeline.page)


@require_safe
@doors.allowed(rights.Act.VIEW)
def plan(request: doors.Request, run_id: int) -> HttpResponse:
    """What is still to be done."""
    return _draw(request, run_id, "run/plan.html", run_plan.page)


@require_safe
@doors.allowed(rights.Act.VIEW)
def transcript(request: doors.Request, run_id: int) -> HttpResponse:
    """What was said and done, oldest first; the lines with some words, a jump to a checkpoint, or a page as a file."""
    params = request.GET.dict()
    run = access.run_for(request.user, run_id)
    if params.get("as") == "lines":
        response = HttpResponse(run_transcript.saved(run, params), content_type="application/x-ndjson")
        response["Content-Disposition"] = f'attachment; filename="run-{run_id}-transcript.jsonl"'
        return response
    error = ""
    if number := params.get("checkpoint", ""):
        found = run_transcript.place(run, number)
        if found is not None:
            holder, position = found
            return redirect(reverse("run-transcript", args=[holder]) + run_transcript.around(position))
        error = "There is no such checkpoint."
    page = run_transcript.page(run, doors.viewer(request), params, error=error)
    part = "#live" if params.get("part") == "live" else ""
    return render(request, f"run/transcript.html{part}", {"section": "runs", "page": page})


@require_safe
@doors.allowed(rights.Act.VIEW)
def effects(request: doors.Request, run_id: int) -> HttpResponse:
    """What reached the world outside."""
    return _draw(request, run_id, "run/effects.html", run_effects.page)


@require_safe
@doors.allowed(rights.Act.VIEW)
def usage(request: doors.Request, run_id: int) -> HttpResponse:
    """What was used."""
    return _draw(request, run_id, "run/usage.html", lambda run, viewer, _: run_usage.page(run, viewer))


@require_safe
@doors.allowed(rights.Act.VIEW)
def entry(request: doors.Request, run_id: int, position: int) -> HttpResponse:
    """One line of the log: its canonical JSON text, to be saved as a file."""
    found = access.entry_for(request.user, run_id, position)
    text = exact.canonical(found.content, limit=None)
    response = HttpResponse(text, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="run-{run_id}-entry-{position}.json"'
    return response
