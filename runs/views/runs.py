"""The list of runs, and starting one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from runs import access, inputs, models, rights
from runs.forms import starts as forms
from runs.selectors import page_models, runs_list
from runs.transitions import refusals, starts
from runs.views import doors


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.VIEW)
def runs(request: doors.Request) -> HttpResponse:
    """List the runs; a POST starts one."""
    if request.method == "POST":
        access.require(request.user, rights.Act.START)
        return _start(request)
    start = _form(request.user) if access.may(request.user, rights.Act.START) else None
    page = runs_list.page(request.GET.dict(), doors.viewer(request), start=start)
    part = "#live" if request.GET.get("part") == "live" else ""
    return render(request, f"runs.html{part}", {"section": "runs", "page": page})


def _form(user: models.User) -> page_models.StartForm:
    return forms.shown(forms.agents(user), token=inputs.new_token(), default=inputs.default_of)


def _start(request: doors.Request) -> HttpResponse:
    known = forms.agents(request.user)
    given = forms.read(request.POST.dict(), request.FILES, known)
    if given.errors:
        return _again(request, known, given, {})
    try:
        agent = inputs.agent(given.agent, request.user)
        collected = inputs.collect(agent, given.values, given.files)
        run = starts.start_run(
            agent.name,
            input=collected,
            title=given.title or _title(agent, given),
            by=doors.actor(request),
            token=given.token or inputs.new_token(),
            mode=models.Run.Mode.DRY_RUN if given.dry_run else models.Run.Mode.LIVE,
            labels=given.labelled,
        )
    except inputs.BadInput as error:
        own = error.field in given.values or error.field in given.files or error.field not in {"", "agent"}
        key = forms.name_of(given.agent, error.field) if own else error.field
        return _again(request, known, given, {key: str(error)})
    except refusals.Invalid as refusal:
        return _again(request, known, given, {"": refusal.message})
    if given.dry_run:
        messages.success(request, f"Started as a dry run, nothing goes out: {run.title}")
        return doors.lead(request, reverse("run-dry", args=[run.pk]))
    messages.success(request, f"Started: {run.title}")
    return doors.lead(request, reverse("run", args=[run.pk]))


def _title(agent: models.Agent, given: forms.Given) -> str:
    """Return a title that tells this run from its neighbours: agent and file."""
    names = [name for name, _ in given.files.values()]
    return f"{agent.title or agent.name}: {', '.join(names)}" if names else agent.title


def _again(
    request: doors.Request, known: list[models.Agent], given: forms.Given, errors: dict[str, str]
) -> HttpResponse:
    """Return the form with what was typed; a browser never sends a file twice, so it has to be chosen again."""
    start = forms.shown(known, given, token=inputs.new_token(), default=inputs.default_of, errors=errors)
    if request.htmx:
        return render(request, "runs.html#start", {"page": {"start": start}}, status=422)
    page = runs_list.page({}, doors.viewer(request), start=start)
    return render(request, "runs.html", {"section": "runs", "page": page}, status=422)
