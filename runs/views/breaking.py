"""Break-glass: its own page with its own form, which an administrator finds on the question."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from runs import access, models, rights
from runs.forms import decisions as forms
from runs.selectors import review_models
from runs.transitions import breaking, refusals
from runs.transitions.answers import APPROVE, Answer
from runs.views import doors, reviews


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.VIEW)
def break_glass(request: doors.Request, review_id: int) -> HttpResponse:
    """Show the form; a POST releases it alone: 422 and 409 keep what was typed. 404 where it is switched off."""
    row = access.review_for(request.user, review_id)
    access.require(request.user, rights.Act.BREAK_GLASS)
    if not settings.CKPTSITE["BREAK_GLASS"]:
        raise Http404("Break-glass is switched off here.")
    if request.method != "POST":
        return _draw(request, row, review_models.Draft())
    reason, retype = request.POST.get("reason", ""), request.POST.get("retype", "")
    answer = Answer(
        verdict=APPROVE,
        revision=forms.number(request.POST.get("revision", "")),
        digest=request.POST.get("digest", "")[:64],
        token=request.POST.get("token", "")[:64],
        tightened=forms.number(request.POST.get("tightened", "")),
        evidence_number=forms.number(request.POST.get("evidence_number", "")),
        reason=reason,
        retype=retype,
    )
    draft = review_models.Draft(reason=reason[:4000], retype=retype[:4000])
    try:
        breaking.release(row.pk, answer, by=doors.actor(request))
    except refusals.Invalid as refusal:
        return _draw(request, row, draft, error=refusal.message, status=422)
    except refusals.Stale as refusal:
        return _draw(request, row, draft, error=refusal.message, status=409)
    messages.warning(request, "Released alone, by break-glass. Everybody who looks at the run sees it.")
    return doors.lead(request, reverse("review", args=[row.pk]))


def _draw(
    request: doors.Request,
    row: models.Review,
    draft: review_models.Draft,
    *,
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    page = reviews.page_of(request, row)
    context = {**reviews.context_of(page, draft=draft), "error": error, "retyped": breaking.retyped(row)}
    return render(request, "break_glass.html", context, status=status)
