"""Pause, resume and stop."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from runs import access, rights
from runs.forms import retries as forms
from runs.transitions import decisions, holds
from runs.views import doors


@require_POST
@doors.allowed(rights.Act.VIEW)
def pause(request: doors.Request, run_id: int) -> HttpResponse:
    """Hold the run at its next safe point."""
    run = access.run_for(request.user, run_id)
    access.require(request.user, rights.Act.PAUSE)
    holds.pause(run.pk, reason=request.POST.get("reason", ""), by=doors.actor(request))
    messages.success(request, "Paused. Nothing more is started until somebody resumes it.")
    to = "run-plan-edit" if request.POST.get("next") == "plan" else "run"
    return doors.lead(request, reverse(to, args=[run.pk]))


@require_POST
@doors.allowed(rights.Act.VIEW)
def resume(request: doors.Request, run_id: int) -> HttpResponse:
    """Lift the hold."""
    run = access.run_for(request.user, run_id)
    access.require(request.user, rights.Act.RESUME)
    holds.resume(run.pk, by=doors.actor(request))
    messages.success(request, "Resumed. It goes on from its newest checkpoint.")
    return doors.lead(request, reverse("run", args=[run.pk]))


@require_POST
@doors.allowed(rights.Act.VIEW)
def retry(request: doors.Request, run_id: int) -> HttpResponse:
    """Try a failed run again as it is: the answer to the question that its failure asks."""
    run = access.run_for(request.user, run_id)
    access.require(request.user, rights.Act.ANSWER_FAILURE)
    given = forms.read_retry(request.POST.dict())
    review = access.review_for(request.user, given.review_id)
    if review.run_id != run.pk:
        raise Http404("This question is about another run.")
    decisions.decide(review.pk, given.answer, by=doors.actor(request))
    messages.success(request, "It is tried again. What is done is not done again.")
    return doors.lead(request, reverse("run", args=[run.pk]))


@require_POST
@doors.allowed(rights.Act.VIEW)
def stop(request: doors.Request, run_id: int) -> HttpResponse:
    """End the run at its next safe point."""
    run = access.run_for(request.user, run_id)
    access.require(request.user, rights.Act.STOP)
    holds.stop(run.pk, reason=request.POST.get("reason", ""), by=doors.actor(request))
    messages.success(request, "Stop asked. What is under way finishes; nothing else starts.")
    return doors.lead(request, reverse("run", args=[run.pk]))
