"""Looking closely: checkpoints of a run, what differs between two of them, and two attempts side by side."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs import access, exact, models, rights
from runs.selectors import checkpoints, compare_page, diff_page, documents
from runs.views import doors

PATCH = "application/json-patch+json"


@require_safe
@doors.allowed(rights.Act.VIEW)
def listed(request: doors.Request, run_id: int) -> HttpResponse:
    """The checkpoints that the run may be resumed or gone on from."""
    run = access.run_for(request.user, run_id)
    page = checkpoints.page(run, doors.viewer(request), request.GET.dict())
    part = "#live" if request.GET.get("part") == "live" else ""
    return render(request, f"run/checkpoints.html{part}", {"section": "runs", "page": page})


@require_safe
@doors.allowed(rights.Act.VIEW)
def checkpoint(request: doors.Request, run_id: int, number: int) -> HttpResponse:
    """One checkpoint, with the state as it was."""
    cut = access.checkpoint_for(request.user, run_id, number)
    page = checkpoints.one(cut, doors.viewer(request))
    return render(request, "run/checkpoint.html", {"section": "runs", "page": page})


@require_safe
@doors.allowed(rights.Act.VIEW)
def checkpoint_state(request: doors.Request, run_id: int, number: int) -> HttpResponse:
    """The state at a checkpoint as one JSON value, to be saved; 404 where it is too large to be read at once."""
    cut = access.checkpoint_for(request.user, run_id, number)
    document = documents.whole(cut)
    if not document.whole:
        raise Http404("This state is too large to be saved at once; save its lines one by one.")
    return _file(
        exact.canonical(document.value, limit=None),
        "application/json",
        f"run-{run_id}-checkpoint-{number}.json",
    )


@require_safe
@doors.allowed(rights.Act.VIEW)
def diff(request: doors.Request, run_id: int) -> HttpResponse:
    """What is different between two checkpoints of a lineage; with `as=patch` as a file."""
    run = access.run_for(request.user, run_id)
    params = request.GET.dict()
    if params.get("as") == "patch":
        a, b = diff_page.pair(run, params)
        text = None if a is None or b is None else diff_page.patch(a, b)
        if text is None:
            raise Http404("There is no patch between these.")
        return _file(text, PATCH, f"run-{run_id}.patch.json")
    page = diff_page.page(run, params)
    return render(
        request, "run/diff.html", {"section": "runs", "page": page}, status=404 if page.error else 200
    )


def _file(text: str, content_type: str, name: str) -> HttpResponse:
    response = HttpResponse(text, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_safe
@doors.allowed(rights.Act.VIEW)
def compare(request: doors.Request) -> HttpResponse:
    """Two attempts side by side; with one or none, what can be chosen."""
    page = compare_page.page(_run(request, "a"), _run(request, "b"), doors.viewer(request))
    return render(
        request, "compare.html", {"section": "runs", "page": page}, status=404 if page.error else 200
    )


def _run(request: doors.Request, name: str) -> models.Run | None:
    text = request.GET.get(name, "")
    if not text:
        return None
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    return access.run_for(request.user, number)
