"""Many questions at once: seen side by side, answered together, and each told of by itself."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from runs import rights
from runs.forms import batch as forms
from runs.selectors import batch_models, filters
from runs.selectors import batch_page as selector
from runs.transitions import batches, decisions, refusals
from runs.views import doors, flash


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.DECIDE)
def batch(request: doors.Request) -> HttpResponse:
    """Show the questions that the address names, or take one answer to many. A GET never decides."""
    chosen = flash.came_from(request)
    if request.method == "POST":
        return _decide(request, chosen)
    wanted = forms.ids(request.GET.getlist("review"))
    page = selector.page(doors.viewer(request), wanted, most=batches.MOST, back=chosen.query)
    return render(request, "batch.html", _context(page, batch_models.Draft()))


def _decide(request: doors.Request, chosen: filters.Filters) -> HttpResponse:
    """Answer each of the ticked ones by what was shown of it; one refusal leaves the others decided."""
    given = forms.read(request.POST, most=selector.MOST_SHOWN)
    errors = dict(given.errors)
    page = None
    if not errors and not given.reason:  # whether one is needed depends on what is asked
        page = _page(request, given, chosen)
        if any(group.reason_required and given.ticked.keys() & set(group.rest) for group in page.groups):
            errors["reason"] = "Say what you checked; at this tier every approval needs a reason."
    if not errors:
        answers = {number: _answer(given, seen) for number, seen in given.ticked.items()}
        try:
            outcomes = batches.decide_many(answers, by=doors.actor(request))
        except refusals.Invalid as refusal:
            errors[""] = refusal.message
        else:
            refused = {item.review_id: item.refusal.message if item.refusal else "" for item in outcomes}
            others = [number for number in given.shown if number not in refused]
            report = selector.report(doors.viewer(request), refused, others=others, back=chosen.query)
            return render(
                request, "batch_report.html", {"section": "inbox", "report": report, "verdict": given.verdict}
            )
    page = page or _page(request, given, chosen)
    unfolded = tuple(request.POST.getlist("unfolded"))
    draft = batch_models.Draft(group=given.group, reason=given.reason, errors=errors, unfolded=unfolded)
    return render(request, "batch.html", _context(page, draft), status=422)


def _page(request: doors.Request, given: forms.Given, chosen: filters.Filters) -> batch_models.BatchPage:
    """Return the page of a form that was refused, with what was ticked and hasn't changed since."""
    return selector.page(
        doors.viewer(request),
        forms.ids(request.GET.getlist("review")) or given.shown,
        most=batches.MOST,
        ticked={number: seen.mark for number, seen in given.ticked.items()},
        back=chosen.query,
    )


def _answer(given: forms.Given, seen: forms.Seen) -> decisions.Answer:
    return decisions.Answer(
        verdict=given.verdict,
        revision=seen.revision,
        digest=seen.digest,
        evidence_number=seen.evidence_number,
        tightened=seen.tightened,
        token=seen.token,
        reason=given.reason,
    )


def _context(page: batch_models.BatchPage, draft: batch_models.Draft) -> dict[str, object]:
    return {"section": "inbox", "page": page, "draft": draft}
