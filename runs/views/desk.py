"""Putting a question off and handing it over. Neither answers it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.utils import formats, timezone
from django.views.decorators.http import require_POST

from runs import access, models, rights
from runs.forms import decisions as forms
from runs.selectors import queue, review_models
from runs.transitions import desk, refusals
from runs.views import doors, flash, reviews


@require_POST
@doors.allowed(rights.Act.VIEW)
def snooze(request: doors.Request, review_id: int) -> HttpResponse:
    """Put the question off for this person; 422 for no such time, 409 once it is closed."""
    row = access.review_for(request.user, review_id)
    span = request.POST.get("for", "")
    draft, conflict = review_models.Draft(verdict="snooze", span=span), ""
    try:
        kept = desk.snooze(row.pk, span, by=doors.actor(request))
    except refusals.Invalid as refusal:
        draft = review_models.Draft(verdict="snooze", span=span, errors={"span": refusal.message})
    except refusals.Stale as refusal:
        conflict = refusal.message
    else:
        until = formats.date_format(timezone.localtime(kept.until), "j M, H:i")
        messages.success(request, f"Put off until {until}: {row.title}")
        return _onwards(request, row)
    return reviews.kept(request, row, draft, conflict)


@require_POST
@doors.allowed(rights.Act.VIEW)
def wake(request: doors.Request, review_id: int) -> HttpResponse:
    """Bring back what this person has put off; 409 where it isn't."""
    row = access.review_for(request.user, review_id)
    desk.wake(row.pk, by=doors.actor(request))
    messages.success(request, "It is back in your list.")
    return doors.lead(request, flash.onwards(row.pk, back=flash.came_from(request).query))


@require_POST
@doors.allowed(rights.Act.VIEW)
def hand_over(request: doors.Request, review_id: int) -> HttpResponse:
    """Give the question to somebody; 422 without a note or to who may not answer it, 409 once it is closed."""
    row = access.review_for(request.user, review_id)
    to, note = forms.number(request.POST.get("to", "")), request.POST.get("note", "")
    draft, conflict = review_models.Draft(verdict="hand_over", to=to, reason=note), ""
    try:
        given = desk.hand_over(row.pk, to, note=note, by=doors.actor(request))
    except refusals.Invalid as refusal:
        draft = review_models.Draft(verdict="hand_over", to=to, reason=note, errors={"note": refusal.message})
    except refusals.Stale as refusal:
        conflict = refusal.message
    else:
        if given.to == request.user:
            messages.success(request, "It is yours now.")
            return doors.lead(request, flash.onwards(row.pk, back=flash.came_from(request).query))
        messages.success(request, f"{given.to.display()} has it now: {row.title}")
        return _onwards(request, row)
    return reviews.kept(request, row, draft, conflict)


def _onwards(request: doors.Request, row: models.Review) -> HttpResponse:
    """Lead to the next question of the list that the person works through."""
    chosen = flash.came_from(request)
    following = queue.next_for(doors.viewer(request), after=row, chosen=chosen)
    return doors.lead(request, flash.onwards(following, back=chosen.query))
