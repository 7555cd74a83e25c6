"""The report of a dry run: a page, and files."""

from __future__ import annotations

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs import access, models, rights
from runs.selectors import dry_run_page
from runs.views import doors


@require_safe
@doors.allowed(rights.Act.VIEW)
def report(request: doors.Request, run_id: int) -> HttpResponseBase:
    """What it would have done, and whom it would have asked; 404 for a run that is for real."""
    run = access.run_for(request.user, run_id)
    if run.mode != models.Run.Mode.DRY_RUN:
        raise Http404("Only a dry run has such a report.")
    form = request.GET.get("as", "")
    if form not in {"csv", "json"}:
        page = dry_run_page.page(run, doors.viewer(request))
        part = "#live" if request.GET.get("part") == "live" else ""
        return render(request, f"run/dry_run.html{part}", {"section": "runs", "page": page})
    response: HttpResponseBase
    if form == "csv":
        response = StreamingHttpResponse(dry_run_page.as_csv(run), content_type="text/csv; charset=utf-8")
    else:
        response = HttpResponse(dry_run_page.as_json(run), content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="dry-run-{run_id}.{form}"'
    return response
