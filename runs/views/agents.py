"""Agents: what there is, what each version says, and a new version or a new agent."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs import inputs, models, rights
from runs.forms import agent_fields, decisions
from runs.forms import agents as forms
from runs.forms import starts as starts_form
from runs.selectors import agent_choices, agents_page
from runs.transitions import agents as transitions
from runs.transitions import refusals, starts
from runs.views import doors

_SETTINGS = ("max_tokens", "window", "temperature", "base_url", "key", "stream", "facts")
"""The settings of a model that are unfolded where one of them says something."""


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
    given = forms.read(dict(request.POST.lists())) if request.method == "POST" else forms.begin(None, base=0)
    return _edited(request, given, row=None)


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.AGENTS)
def edit(request: doors.Request, name: str) -> HttpResponse:
    """Show the newest version's text to be changed; a POST makes a version of it: 422 and 409 keep what was typed."""
    row = _row(request, name)
    if request.method == "POST":
        return _edited(request, forms.read(dict(request.POST.lists()), name=name), row=row)
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
    if given.agent is None or given.act not in {forms.SAVE, forms.TRY}:
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
        where = "reason" if not given.reason.strip() else "text" if given.tab == forms.YAML else ""
        return _draw(request, replace(given, errors={where: refusal.message}), row, status=422)
    except refusals.Stale as refusal:
        rebased = given if row is None else replace(given, base=agents_page.newest(row).number)
        return _draw(request, rebased, row, status=409, conflict=refusal.message)
    return _kept(request, version, tried=given.act == forms.TRY)


def _kept(request: doors.Request, version: models.AgentVersion, *, tried: bool) -> HttpResponse:
    """Lead on to the version: to its dry run, if it was kept to be tried out by somebody who may start one."""
    name, number = version.agent.name, version.number
    used = (
        "New runs start on it."
        if version.agent.current_id == version.pk
        else "New runs go on with the version in use."
    )
    messages.success(request, f"Version {number} of {name} is kept. {used}")
    if tried and rights.may(request.user.roles(), rights.Act.START):
        return doors.lead(request, reverse("agent-try", args=[name, number]))
    return doors.lead(request, f"{reverse('agent', args=[name])}?version={number}")


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
    changes = agents_page.changed(before.declared(), given.agent) if before and given.agent else ()
    same = before is not None and given.agent is not None and not changes
    context = {
        "section": "agents",
        "form": given,
        "row": row,
        "before": before,
        "changes": changes,
        "drawn": "opened" if request.method != "POST" else "same" if same else "draft",
        "conflict": conflict,
        "place": reverse("agent-edit", args=[row.name]) if row is not None else reverse("agent-new"),
        "live": part == "#notes",
    }
    if given.form is not None:
        context |= _choices(request, given.form, row)
    else:
        context["tools"] = agents_page.installed()
    return render(request, f"agent_edit.html{part}", context, status=status)


def _choices(
    request: doors.Request, form: agent_fields.AgentForm, row: models.Agent | None
) -> dict[str, object]:
    provider, vendor = form.texts.get("provider", ""), form.texts.get("vendor", "")
    known = {value for value, _ in agent_choices.VENDORS}
    return {
        "choices": agent_choices.choices(
            request.user, form.tools or (), agent=row.name if row else form.texts.get("name", "")
        ),
        "limits": agent_choices.LIMITS,
        "vendors": (*agent_choices.VENDORS, *(() if vendor in known else ((vendor, "Choose…"),))),
        "providers": [one for one in agent_choices.PROVIDERS if one[0] != "replay" or provider == "replay"],
        "more": any(form.texts.get(name) for name in _SETTINGS),
    }
