"""Agents: what there is, what each version says, and a new version or a new agent."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs import inputs, models, rights
from runs.forms import agents as forms
from runs.forms import decisions
from runs.forms import starts as starts_form
from runs.selectors import agents_page
from runs.transitions import agents as transitions
from runs.transitions import refusals, starts
from runs.views import doors


@require_safe
@doors.allowed(rights.Act.VIEW)
def agents(request: doors.Request) -> HttpResponse:
    """List them."""
    page = agents_page.page(request.GET.dict(), request.user)
    return render(request, "agents.html", {"section": "agents", "page": page})


@require_safe
@doors.allowed(rights.Act.VIEW)
def agent(request: doors.Request, name: str) -> HttpResponse:
    """Show one at the version in use, or at another."""
    number = decisions.number(request.GET["version"]) if "version" in request.GET else 0
    page = agents_page.agent(_row(request, name), request.user, number=number)
    if page is None:
        raise Http404("There is no such version.")
    context = {"section": "agents", "page": page, "token": inputs.new_token()}
    return render(request, "agent.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.AGENTS)
def new(request: doors.Request) -> HttpResponse:
    """Show the text of a new agent; a POST makes it."""
    given = forms.read(request.POST.dict()) if request.method == "POST" else forms.begin(None, base=0)
    return _edited(request, given, row=None)


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.AGENTS)
def edit(request: doors.Request, name: str) -> HttpResponse:
    """Show the newest version's text to be changed; a POST makes a version of it: 422 and 409 keep what was typed."""
    row = _row(request, name)
    if request.method == "POST":
        return _edited(request, forms.read(request.POST.dict(), name=name), row=row)
    latest = agents_page.newest(row)
    return _edited(request, forms.begin(latest.declared(), base=latest.number), row=row)


@require_POST
@doors.allowed(rights.Act.AGENTS)
def use(request: doors.Request, name: str) -> HttpResponse:
    """Let new runs start on a version."""
    row = _row(request, name)
    number = decisions.number(request.POST.get("version", ""))
    transitions.use(row.name, number, reason=request.POST.get("reason", ""), by=doors.actor(request))
    messages.success(request, f"New runs start on version {number} from now on.")
    return doors.lead(request, reverse("agent", args=[row.name]))


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.START)
def try_out(request: doors.Request, name: str, number: int) -> HttpResponse:
    """Show the form of a dry run of any version; a POST starts it."""
    row = _row(request, name)
    row.current = agents_page.version(row, number)  # for this form alone, nothing is stored
    if row.current is None:
        raise Http404("There is no such version.")
    if request.method != "POST":
        return _trying(request, row, None, {})
    given = starts_form.read({**request.POST.dict(), "agent": row.name}, request.FILES, [row])
    if given.errors:
        return _trying(request, row, given, {})
    try:
        run = starts.start_run(
            row.name,
            input=inputs.collect(row, given.values, given.files),
            title=given.title or f"{row.title}, version {number}, tried out",
            by=doors.actor(request),
            token=given.token or inputs.new_token(),
            mode=models.Run.Mode.DRY_RUN,
            version=number,
        )
    except inputs.BadInput as error:
        return _trying(request, row, given, {starts_form.name_of(row.name, error.field): str(error)})
    except refusals.Invalid as refusal:
        return _trying(request, row, given, {"": refusal.message})
    messages.success(request, f"Started as a dry run, nothing goes out: {run.title}")
    return doors.lead(request, reverse("run-dry", args=[run.pk]))


@require_POST
@doors.allowed(rights.Act.START)
def try_on(request: doors.Request, name: str, number: int) -> HttpResponse:
    """Start dry runs of a version on the inputs of the newest runs, to be compared with them."""
    row = _row(request, name)
    found = agents_page.recorded(row)
    starts.try_on(row.name, number, found, token=request.POST.get("token", ""), by=doors.actor(request))
    messages.success(request, f"Trying it on {len(found)} recorded runs, as dry runs: nothing goes out.")
    return doors.lead(request, f"{reverse('agent', args=[row.name])}?version={number}#tried")


def _trying(
    request: doors.Request, row: models.Agent, given: starts_form.Given | None, errors: dict[str, str]
) -> HttpResponse:
    form = starts_form.shown([row], given, token=inputs.new_token(), default=inputs.default_of, errors=errors)
    context = {"section": "agents", "row": row, "form": form, "fields": form.agents[0].fields}
    return render(request, "agent_try.html", context, status=422 if form.errors else 200)


def _row(request: doors.Request, name: str) -> models.Agent:
    row = agents_page.find(name, request.user)
    if row is None:
        raise Http404("There is no such agent.")
    return row


def _edited(request: doors.Request, given: forms.Given, *, row: models.Agent | None) -> HttpResponse:
    wanted = request.method == "POST" and given.act != forms.LIVE
    if given.agent is None or not wanted:
        return _draw(request, given, row, status=422 if given.errors else 200)
    try:
        version = transitions.save(
            given.agent,
            base=given.base,
            reason=given.reason,
            use=given.act == forms.SAVE,
            by=doors.actor(request),
        )
    except refusals.Invalid as refusal:
        where = "reason" if not given.reason.strip() else "text"
        return _draw(request, replace(given, errors={where: refusal.message}), row, status=422)
    except refusals.Stale as refusal:
        rebased = given if row is None else replace(given, base=agents_page.newest(row).number)
        return _draw(request, rebased, row, status=409, conflict=refusal.message)
    used = "New runs start on it." if given.act == forms.SAVE else "It can be tried out as a dry run."
    messages.success(request, f"Version {version.number} of {version.agent.name} is kept. {used}")
    return doors.lead(request, f"{reverse('agent', args=[version.agent.name])}?version={version.number}")


def _draw(
    request: doors.Request,
    given: forms.Given,
    row: models.Agent | None,
    *,
    status: int = 200,
    conflict: str = "",
) -> HttpResponse:
    before = agents_page.newest(row) if row is not None else None
    part = ""
    if request.htmx and request.method == "POST":
        part = "#notes" if given.act == forms.LIVE else "#form"
    context = {
        "section": "agents",
        "form": given,
        "row": row,
        "before": before,
        "changes": agents_page.changed(before.declared(), given.agent) if before and given.agent else (),
        "tools": agents_page.installed(),
        "conflict": conflict,
        "place": reverse("agent-edit", args=[row.name]) if row is not None else reverse("agent-new"),
        "live": part == "#notes",
    }
    return render(request, f"agent_edit.html{part}", context, status=status)
