"""Going on with many failed runs of one cause."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from runs import access, rights
from runs.forms import bulk_redrives as forms
from runs.selectors import bulk_redrive
from runs.transitions import bulk_redrives, refusals
from runs.views import doors


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.VIEW)
def many(request: doors.Request) -> HttpResponse:
    """Show the failed runs of one cause and what would become of each; a POST makes the new attempts and reports."""
    access.require(request.user, rights.Act.REDRIVE)
    if request.method != "POST":
        return _draw(request, bulk_redrive.page(doors.viewer(request), request.GET.get("cause", "")))
    given = forms.read(request.POST)
    for wish in given.wishes:
        access.run_for(request.user, wish.run_id)
    try:
        done = bulk_redrives.redrive_many(given.wishes, reason=given.reason, by=doors.actor(request))
    except refusals.Invalid as refusal:
        page = bulk_redrive.page(
            doors.viewer(request),
            given.cause,
            reason=given.reason,
            ticked=[wish.run_id for wish in given.wishes],
            tokens=given.tokens,
            errors={"": refusal.message},
        )
        return _draw(request, page, status=422)
    outcomes = {
        one.run_id: bulk_redrive.Outcome(
            made=one.made.pk if one.made is not None else None,
            refusal=one.refusal.message if one.refusal is not None else "",
        )
        for one in done
    }
    return _draw(
        request, bulk_redrive.page(doors.viewer(request), given.cause, reason=given.reason, outcomes=outcomes)
    )


def _draw(request: doors.Request, page: bulk_redrive.BulkPage, *, status: int = 200) -> HttpResponse:
    return render(request, "redrive_many.html", {"section": "runs", "page": page}, status=status)
