"""Records of runs that other sites carried out, to read."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs import access, exact, models, rights
from runs.selectors import imported_page
from runs.views import doors


@require_safe
@doors.allowed(rights.Act.VIEW)
def imported(request: doors.Request) -> HttpResponse:
    """List the records. 403 for who is limited to some agents."""
    access.whole(request.user, rights.Act.VIEW)
    page = imported_page.listed(request.GET.dict())
    return render(request, "imported.html", {"section": "runs", "page": page})


@require_safe
@doors.allowed(rights.Act.VIEW)
def record(request: doors.Request, number: int) -> HttpResponse:
    """Show one record. 403 for who is limited to some agents."""
    page = imported_page.record(_run(request, number), request.GET.dict())
    return render(request, "imported_run.html", {"section": "runs", "page": page})


@require_safe
@doors.allowed(rights.Act.VIEW)
def line(request: doors.Request, number: int, position: int) -> HttpResponse:
    """Give one line's content, whole and as plain text."""
    row = imported_page.text(_run(request, number), position)
    if row is None:
        raise Http404("This record has no such line.")
    return HttpResponse(exact.text_of(row.content), content_type="text/plain; charset=utf-8")


def _run(request: doors.Request, number: int) -> models.ImportedRun:
    access.whole(request.user, rights.Act.VIEW)
    run = imported_page.find(number)
    if run is None:
        raise Http404("There is no such imported run.")
    return run
