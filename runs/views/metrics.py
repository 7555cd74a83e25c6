"""The metrics page, and each of its tables as a file."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs import access, rights
from runs.selectors import metrics as selector
from runs.views import doors


@require_safe
@doors.allowed(rights.Act.VIEW)
def metrics(request: doors.Request) -> HttpResponse:
    """All figures of some days; with `figure=<name>` the table of one as CSV."""
    access.whole(request.user, rights.Act.VIEW)
    params = request.GET.dict()
    page = selector.page(params, doors.viewer(request))
    if "figure" in params:
        figure = next((one for one in page.figures if one.name == params["figure"] and one.rows), None)
        if figure is None:
            raise Http404("There is no such table here.")
        response = HttpResponse(selector.as_csv(figure), content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="metrics-{figure.name}.csv"'
        return response
    return render(request, "metrics.html", {"section": "metrics", "page": page})
