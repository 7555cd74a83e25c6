"""Answering what an agent asks: a value, or words why there is none. A button that changes the form decides nothing."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from runs import access, lifecycle, models, rights
from runs.forms import answers as forms
from runs.selectors import queue, review_models, review_questions
from runs.transitions import decisions, refusals
from runs.views import doors, flash, reviews


@require_POST
@doors.allowed(rights.Act.VIEW)
def answer(request: doors.Request, review_id: int) -> HttpResponse:
    """Take the answer, or change the form as a button asks; 422 and 409 keep all that was typed."""
    row = access.review_for(request.user, review_id)
    access.require(request.user, rights.Act.DECIDE)
    asked = review_questions.asked(row)
    if asked is None:
        return reviews.kept(request, row, review_models.Draft(), "This is no question of an agent.")
    given = forms.read(dict(request.POST.lists()), asked.schema)
    if given.errors and row.status == lifecycle.Review.OPEN:
        return _again(request, row, given, 422)
    if not given.decides:
        return _again(request, row, given, 200)
    try:
        decision = decisions.decide(row.pk, _answer(given), by=doors.actor(request))
    except refusals.Invalid as refusal:
        given.errors[""] = refusal.message
        return _again(request, row, given, 422)
    except refusals.Stale as refusal:
        return _again(request, row, given, 409, conflict=refusal.message)
    after = access.review_for(request.user, decision.review_id)
    chosen = flash.came_from(request)
    following = queue.next_for(doors.viewer(request), after=after, chosen=chosen)
    return doors.lead(request, flash.following(following, done=after.pk, back=chosen.query))


def _answer(given: forms.Given) -> decisions.Answer:
    return decisions.Answer(
        verdict=given.act,
        value=given.value,
        reason=given.reason,
        revision=given.revision,
        digest=given.digest,
        token=given.token,
    )


def _again(
    request: doors.Request, row: models.Review, given: forms.Given, status: int, *, conflict: str = ""
) -> HttpResponse:
    draft = review_models.Draft(verdict=given.act, reason=given.reason)
    context = {**reviews.context_of(reviews.page_of(request, row), draft=draft), "form": given}
    if conflict:
        context["conflict"] = review_models.Conflict(sentence=conflict)
    if request.htmx and not conflict:
        return render(request, "review.html#decide", context, status=status)
    return doors.whole(request, render(request, "review.html", context, status=status))
