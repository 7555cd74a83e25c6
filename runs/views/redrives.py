"""Going on from a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from runs import access, inputs, models, rights
from runs.forms import redrives as redrives_form
from runs.selectors import redrive_models, redrive_page, run_retry, run_timeline
from runs.transitions import branches, redrives, refusals
from runs.views import doors


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.VIEW)
def redrive(request: doors.Request, run_id: int) -> HttpResponse:
    """Show what going on from a checkpoint means; a POST makes the new attempt, or a dry run beside it."""
    run = access.run_for(request.user, run_id)
    access.require(request.user, rights.Act.REDRIVE)
    if request.method != "POST":
        return _draw(request, run, redrive_page.page(run, _number(request.GET.get("checkpoint")), {}))
    post = request.POST.dict()
    number = _number(post.get("checkpoint"))
    given = redrives_form.read(post, redrive_page.calls_at(run, number))
    errors, status = given.errors, 422
    if errors:
        return _draw(request, run, redrive_page.page(run, number, post, errors=errors), status=status)
    try:
        new = _made(request, run, given)
    except inputs.BadInput as error:
        errors = {f"input.{error.field}" if error.field else "": str(error)}
    except refusals.Invalid as refusal:
        errors = {"": refusal.message}
    except refusals.Stale as refusal:
        errors, status = {"": refusal.message}, 409
    else:
        tries = given.verb == redrives_form.TRY_OUT
        does = (
            f"tries it out from checkpoint {number}; nothing goes out"
            if tries
            else f"goes on from checkpoint {number}"
        )
        messages.success(request, f"Run {new.pk} {does}.")
        held = given.hold and not tries
        return doors.lead(request, reverse("run-plan-edit" if held else "run", args=[new.pk]))
    page = redrive_page.page(run, number, post, errors=errors)
    return _draw(request, run, page, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.VIEW)
def separate(request: doors.Request, run_id: int) -> HttpResponse:
    """List what separate work from a checkpoint would not know about; a POST that has seen the list begins it."""
    run = access.run_for(request.user, run_id)
    access.require(request.user, rights.Act.REDRIVE)
    number, errors, status = _number(request.GET.get("checkpoint")), {}, 200
    if request.method == "POST":
        number, status = _number(request.POST.get("checkpoint")), 422
        try:
            new = _separated(request, run, number)
        except inputs.BadInput as error:
            errors = {f"input.{error.field}" if error.field else "": str(error)}
        except refusals.Invalid as refusal:
            errors = {"": refusal.message}
        except refusals.Stale as refusal:
            errors, status = {"": refusal.message}, 409
        else:
            messages.success(request, f"Run {new.pk} is separate work from checkpoint {number}.")
            return doors.lead(request, reverse("run", args=[new.pk]))
    earlier = branches.earlier_effects(run.pk)
    page = redrive_page.separate(run, number, request.POST.dict(), earlier.occurrences, errors=errors)
    context = {"section": "runs", "page": page, "run": run, "acknowledged": earlier.digest}
    return render(request, "run/separate.html", context, status=status)


@require_POST
@doors.allowed(rights.Act.VIEW)
def take_over(request: doors.Request, run_id: int) -> HttpResponse:
    """Make a live attempt of a dry run: 422 for what can't be, 409 when another attempt has taken over by now."""
    run = access.run_for(request.user, run_id)
    access.require(request.user, rights.Act.REDRIVE)
    if run.mode != models.Run.Mode.DRY_RUN:
        raise Http404("Only a dry run can be taken over.")
    given = request.POST.dict()
    if not run.path:
        new = branches.take_over(run.pk, reason="", by=doors.actor(request), token=given.get("token", ""))
        messages.success(request, f"Started for real. Dry run {run.pk} stays beside it.")
        return doors.lead(request, reverse("run", args=[new.pk]))
    try:
        new = branches.take_over(
            run.pk,
            reason=given.get("reason", ""),
            by=doors.actor(request),
            token=given.get("token", ""),
            seen=_number(given.get("seen")),
        )
    except refusals.Invalid as refusal:
        error, status = refusal.message, 422
    except refusals.Stale as refusal:
        error, status = refusal.message, 409
    else:
        messages.success(request, f"Run {new.pk} takes dry run {run.pk} over.")
        return doors.lead(request, reverse("run", args=[new.pk]))
    page = run_timeline.page(run, doors.viewer(request), {}, given=given, error=error)
    return render(request, "run/timeline.html", {"section": "runs", "page": page}, status=status)


def _separated(request: doors.Request, run: models.Run, number: int | None) -> models.Run:
    post = request.POST.dict()
    if "read" not in post:
        raise refusals.Invalid("Confirm that you have read the list of what was done before.")
    return branches.separate(
        run.pk,
        checkpoint=number or 0,
        reason=post.get("reason", ""),
        acknowledged=post.get("acknowledged", ""),
        input=_corrected(request, run, number or 0),
        by=doors.actor(request),
        token=post.get("token", ""),
    )


def _made(request: doors.Request, run: models.Run, given: redrives_form.Given) -> models.Run:
    checkpoint = given.checkpoint or 0
    corrected, by = _corrected(request, run, checkpoint), doors.actor(request)
    if given.verb == redrives_form.TRY_OUT:
        if given.hold or given.raises:
            raise refusals.Invalid(
                "A dry run takes the plan and the budget as they are; go on from here to change them."
            )
        return branches.fork(
            run.pk,
            checkpoint=checkpoint,
            reason=given.reason,
            input=corrected,
            arguments=given.arguments,
            instructions=given.instructions,
            by=by,
            token=given.token,
        )
    return redrives.redrive(
        run.pk,
        checkpoint=checkpoint,
        reason=given.reason,
        input=corrected,
        arguments=given.arguments,
        dispositions=given.dispositions,
        instructions=given.instructions,
        raises=given.raises,
        hold=given.hold,
        seen=given.seen,
        by=by,
        token=given.token,
    )


def _corrected(request: doors.Request, run: models.Run, checkpoint: int) -> Mapping[str, Any] | None:
    """Return the input with what was typed otherwise, or None where nothing was."""
    post = request.POST.dict()
    typed = {
        name.removeprefix("input."): text.replace("\r\n", "\n")
        for name, text in post.items()
        if name.startswith("input.")
    }
    files = {
        name.removeprefix("input."): inputs.uploaded(file)
        for name, file in request.FILES.items()
        if name.startswith("input.") and isinstance(file, UploadedFile)
    }
    given = redrive_page.input_at(run, checkpoint)
    before = inputs.as_typed(given)
    changed = {name: text for name, text in typed.items() if text.strip() != before.get(name, "").strip()}
    return inputs.correct(run.agent_version, given, changed, files) if changed or files else None


_number = redrives_form.number


def _draw(
    request: doors.Request, run: models.Run, page: redrive_models.RedrivePage, *, status: int = 200
) -> HttpResponse:
    page = replace(page, retry=run_retry.of_run(run, doors.viewer(request)))
    return render(request, "run/redrive.html", {"section": "runs", "page": page, "run": run}, status=status)
