"""The policy: what it says and what came of it, and its editor with a look at what a draft would have said."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from runs import models, rights
from runs.forms import policies as forms
from runs.selectors import edit_page, policy_page, policy_rule, policy_simulator
from runs.transitions import refusals, switches
from runs.views import doors


@require_safe
@doors.allowed(rights.Act.VIEW)
def policy(request: doors.Request) -> HttpResponse:
    """The rules in force in plain words, or those of an earlier version."""
    page = policy_page.page(doors.viewer(request), request.GET.dict())
    return render(request, "policies.html", {"section": "policies", "page": page})


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.POLICIES)
def edit(request: doors.Request) -> HttpResponse:
    """Show the rules to be changed; a POST changes the draft, or puts it in force: 422 and 409 keep what was typed."""
    current = policy_page.in_force()
    if request.method != "POST":
        return _draw(request, current, forms.begin(current.rules, base=current.number))
    given = forms.read(dict(request.POST.lists()))
    if given.errors or given.verb != forms.SAVE or given.document is None:
        return _draw(request, current, given, status=422 if given.errors else 200)
    try:
        made = switches.set_policy(
            dict(given.document), reason=given.reason, by=doors.actor(request), base=given.base
        )
    except refusals.Invalid as refusal:
        return _draw(request, current, replace(given, errors={"": refusal.message}), status=422)
    except refusals.Stale as refusal:
        current = policy_page.in_force()
        rebased = replace(given, base=current.number)
        return _draw(request, current, rebased, status=409, conflict=refusal.message)
    messages.success(request, f"Version {made.number} of the policy is in force.")
    return doors.lead(request, reverse("policies"))


def _draw(
    request: doors.Request,
    current: models.PolicyVersion,
    given: forms.Given,
    *,
    status: int = 200,
    conflict: str = "",
) -> HttpResponse:
    part = ""
    if request.htmx and request.method == "POST":
        part = "#notes" if given.verb == forms.LIVE else "#form"
    document = given.document
    changes = () if document is None else edit_page.shown(policy_page.changed(current.rules, document))
    tried = None
    if given.verb == forms.TRY and document is not None:
        days = given.days if given.days in policy_simulator.SPANS else 30
        tried = policy_simulator.simulate(document, current.rules, days=days)
    context = {
        "section": "policies",
        "form": given,
        "rules": policy_page.drafted(given.rules),
        "changes": changes,
        "current": current.number,
        "conflict": conflict,
        "tried": tried,
        "choices_of_days": policy_simulator.SPANS,
        "live": part == "#notes",
    }
    if given.rule is not None:
        rule = given.rule
        context |= policy_rule.choices(rule.texts, rule.ticked, rule.rungs, rule.errors)
    return render(request, f"policies_edit.html{part}", context, status=status)
