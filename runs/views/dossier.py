"""The dossier of a run."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs import access, rights
from runs.selectors import blind, dossier_file, dossier_page
from runs.views import doors, streams


@require_safe
@doors.allowed(rights.Act.AUDIT)
def dossier(request: doors.Request, run_id: int) -> HttpResponseBase:
    """Everything about one run, for paper; with `as=jsonl` whole, as a file."""
    run = access.run_for(request.user, run_id)
    by, unread = request.user.get_username(), blind.unread(doors.viewer(request))
    if request.GET.get("as") == "jsonl":
        parts = dossier_file.written(run, by=by, unread=unread)
        return streams.file(request, parts, name=f"run-{run.pk}-dossier.jsonl", kind="application/jsonl")
    page = dossier_page.page(run, request.GET.dict(), by=by, unread=unread)
    return render(request, "run/dossier.html", {"section": "runs", "page": page})
