"""The effects of all runs, taking one back, and having one read back."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from runs import access, models, rights
from runs.selectors import effects_files, effects_ledger, run_effects, run_models
from runs.transitions import refusals, undos, verifications
from runs.views import doors


@require_safe
@doors.allowed(rights.Act.VIEW)
def ledger(request: doors.Request) -> HttpResponse:
    """What reached the world outside, of every run; with `as=csv` or `as=json` as a file."""
    params = request.GET.dict()
    if params.get("as") in effects_files.TYPES:
        found = effects_files.saved(doors.viewer(request), params, params["as"])
        response = HttpResponse(found.text, content_type=found.content_type)
        response["Content-Disposition"] = f'attachment; filename="{found.name}"'
        return response
    page = effects_ledger.page(doors.viewer(request), params)
    return render(request, "effects.html", {"section": "effects", "page": page})


@require_POST
@doors.allowed(rights.Act.VIEW)
def undo(request: doors.Request, run_id: int) -> HttpResponse:
    """Ask that an effect be taken back: 422 for what can't be, 409 for what is already; the reason is kept."""
    run = access.run_for(request.user, run_id)
    access.require(request.user, rights.Act.UNDO)
    effect = access.effect_for(request.user, run, _number(request.POST.get("occurrence", "")))
    reason, token = request.POST.get("reason", ""), request.POST.get("token", "")
    try:
        asked = undos.ask(effect.pk, reason=reason, by=doors.actor(request), token=token)
    except refusals.Invalid as refusal:
        return _again(request, run, effect.pk, refusal.message, status=422)
    except refusals.Stale as refusal:
        return _again(request, run, effect.pk, refusal.message, status=409)
    here = "It" if asked.pk == run.pk else f"Run {asked.pk}"
    messages.success(request, f"Asked for. {here} takes it back as soon as policy and people let it.")
    return doors.lead(request, reverse("run", args=[asked.pk]))


@require_POST
@doors.allowed(rights.Act.VIEW)
def verify(request: doors.Request, run_id: int) -> HttpResponse:
    """Have an effect read back; the page shows what was found as soon as a worker has looked."""
    run = access.run_for(request.user, run_id)
    access.require(request.user, rights.Act.VERIFY)
    effect = access.effect_for(request.user, run, _number(request.POST.get("occurrence", "")))
    try:
        verifications.ask(effect.pk, by=doors.actor(request))
    except (refusals.Invalid, refusals.Stale) as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, "A worker reads it back; what it finds stands here in a moment.")
    return doors.lead(request, reverse("run-effects", args=[run.pk]))


def _number(text: str) -> int:
    """Return a number of a form, or one that no effect has."""
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _again(request: doors.Request, run: models.Run, effect: int, error: str, *, status: int) -> HttpResponse:
    draft = run_models.UndoDraft(
        occurrence_id=effect, reason=request.POST.get("reason", "")[:2000], error=error
    )
    page = run_effects.page(run, doors.viewer(request), request.GET.dict(), draft=draft)
    return render(request, "run/effects.html", {"section": "runs", "page": page}, status=status)
