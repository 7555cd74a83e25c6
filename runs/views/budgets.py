"""What may be used in a day: today's meters, the last days, and the limits, which administrators set."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from runs import access, models, rights
from runs.forms import limits as forms
from runs.selectors import budgets_page
from runs.transitions import limits, refusals
from runs.views import doors


@require_safe
@doors.allowed(rights.Act.VIEW)
def budgets(request: doors.Request) -> HttpResponse:
    """Everybody's budget of today, and each agent's; 403 for who is limited to some agents."""
    access.whole(request.user, rights.Act.VIEW)
    page = budgets_page.page(doors.viewer(request), request.GET.dict())
    return render(request, "budgets.html", {"section": "budgets", "page": page})


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.VIEW)
def budget(request: doors.Request, name: str = "") -> HttpResponse:
    """Show one budget with its history; a POST sets its limits: 422 and 409 keep what was typed."""
    agent = access.agent_for(request.user, name) if name else None
    if request.method != "POST":
        return _draw(request, agent)
    access.require(request.user, rights.Act.BUDGETS)
    given = forms.read(request.POST.dict())
    if given.errors:
        return _draw(request, agent, given, status=422)
    of = name or limits.EVERYBODY
    try:
        limits.set_limits(of, given.limits, reason=given.reason, base=given.base, by=doors.actor(request))
    except refusals.Invalid as refusal:
        return _draw(request, agent, replace(given, errors={"": refusal.message}), status=422)
    except refusals.Stale as refusal:
        return _draw(request, agent, given, status=409, conflict=refusal.message)
    messages.success(request, "Set. These limits are in force now, for today too.")
    address = reverse("budget-agent", args=[name]) if name else reverse("budget-everybody")
    return doors.lead(request, address)


def _draw(
    request: doors.Request,
    agent: models.Agent | None,
    given: forms.Given | None = None,
    *,
    status: int = 200,
    conflict: str = "",
) -> HttpResponse:
    page = budgets_page.one(doors.viewer(request), agent)
    if given is None:
        given = forms.begin(page.limits, base=page.base)
    elif conflict:  # the next attempt is made knowing of the version that was first
        given = replace(given, base=page.base)
    context = {
        "section": "budgets",
        "page": page,
        "form": given,
        "fields": budgets_page.fields(given.texts, given.errors),
        "tools": given.texts.get(forms.TOOLS, ""),
        "tools_error": given.errors.get(forms.TOOLS, ""),
        "error": given.errors.get("", ""),
        "conflict": conflict,
    }
    return render(request, "budget.html", context, status=status)
