"""The plan editor, and the versions of a plan."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from runs import access, models, rights
from runs.forms import plans
from runs.selectors import plan_draft, plan_editor, plan_versions
from runs.transitions import plan_edits, refusals
from runs.views import doors


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.VIEW)
def edit(request: doors.Request, run_id: int) -> HttpResponse:
    """Show the plan to be changed; a POST changes the draft, or saves it: 422 and 409 keep what was typed."""
    run = access.run_for(request.user, run_id)
    access.require(request.user, rights.Act.EDIT_PLAN)
    if request.GET.get("part") == "news":
        base = plans.number(request.GET.get("base", ""))
        context = {"page": {"run_id": run.pk, "base": base}, "news": plan_editor.news(run, base)}
        return render(request, "run/plan_edit.html#news", context)
    if request.method != "POST":
        return _draw(request, run, None)
    post = request.POST.dict()
    verb = plans.verb_of(post)
    draft = plans.read(post, locked=plan_editor.locked(run), planned=plan_editor.bound(run))
    if verb == plans.SAVE:
        draft = plans.check_reason(draft)
    if draft.errors:
        return _draw(request, run, draft, status=422)
    if verb == plans.REBASE:
        return _draw(request, run, plan_editor.rebased(run, draft))
    if verb != plans.SAVE:
        return _draw(request, run, draft)
    wanted = plan_edits.Edit(base=draft.base, steps=list(draft.steps or ()), reason=draft.reason)
    try:
        plan = plan_edits.save(run.pk, wanted, by=doors.actor(request))
    except refusals.Invalid as refusal:
        place = "steps" if draft.as_json else ""
        return _draw(request, run, replace(draft, errors={place: refusal.message}), status=422)
    except refusals.Stale as refusal:
        run = access.run_for(request.user, run_id)
        return _draw(request, run, draft, status=409, conflict=refusal.message)
    messages.success(request, f"Plan version {plan.version} saved.")
    return doors.lead(request, reverse("run-plan", args=[run.pk]))


def _draw(
    request: doors.Request,
    run: models.Run,
    draft: plan_draft.Draft | None,
    *,
    status: int = 200,
    conflict: str = "",
) -> HttpResponse:
    page = plan_editor.page(run, doors.viewer(request), draft, conflict=conflict)
    wanted = request.method == "POST" or request.GET.get("part") == "editor"
    part = "#editor" if request.htmx and wanted else ""
    return render(request, f"run/plan_edit.html{part}", {"section": "runs", "page": page}, status=status)


@require_safe
@doors.allowed(rights.Act.VIEW)
def versions(request: doors.Request, run_id: int) -> HttpResponse:
    """Who changed the plan, when and why, and what is different between two versions."""
    run = access.run_for(request.user, run_id)
    page = plan_versions.page(run, request.GET.dict())
    return render(request, "run/plan_versions.html", {"section": "runs", "page": page})
