"""The edit page: other arguments for what is asked. Nothing is decided here, and a GET changes nothing."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from runs import access, exact, rights
from runs.forms import edits as forms
from runs.selectors import edit_page, reviews
from runs.transitions import edits, refusals, rehearsals
from runs.views import doors, flash

CHANGED = "This has changed since you opened it. What you typed is kept below, over how it stands now."


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.VIEW)
def edit(request: doors.Request, review_id: int) -> HttpResponse:
    """Show the form, change it as its buttons ask, or take other arguments; 422 and 409 keep all that was typed."""
    row = access.review_for(request.user, review_id)
    access.require(request.user, rights.Act.DECIDE)
    page = edit_page.page(row.pk, doors.viewer(request))
    about = forms.About(tool=page.tool, arguments=page.arguments)
    if request.GET.get("part") == "try":
        return _tried(request, page)
    if request.method != "POST":
        return _draw(request, page, forms.begin(about))
    given = forms.read(dict(request.POST.lists()), about)
    if not page.blocked and (given.revision, given.digest) != (page.revision, page.seen):
        return _draw(request, page, forms.over(given, about), status=409, conflict=CHANGED)
    if given.wants == forms.TRY and not given.errors:
        return _try(request, page, given)
    if given.redraws or given.wants in {forms.CHECK, forms.LIVE, forms.TRY}:
        return _draw(request, page, given, status=422 if given.errors else 200)
    conflict, errors = "", dict(given.errors)
    if not errors or page.blocked:
        try:
            edits.edit(row.pk, _edit(given), by=doors.actor(request))
        except refusals.Invalid as refusal:
            errors[""] = refusal.message
        except refusals.Stale as refusal:
            conflict = refusal.message
        else:
            messages.success(request, reviews.PREPARING)
            back = flash.came_from(request).query
            return doors.lead(request, flash.onwards(row.pk, back=back))
    if conflict:  # read again: the arguments may be others by now
        page = edit_page.page(row.pk, doors.viewer(request))
        given = forms.over(given, forms.About(tool=page.tool, arguments=page.arguments))
        return _draw(request, page, given, status=409, conflict=conflict)
    return _draw(request, page, replace(given, errors=errors), status=422)


def _try(request: doors.Request, page: edit_page.EditPage, given: forms.Given) -> HttpResponse:
    """Let a worker say what these arguments would do; nothing is saved."""
    try:
        rehearsals.ask(page.review_id, given.arguments, by=doors.actor(request))
    except refusals.Invalid as refusal:
        return _draw(request, page, replace(given, errors={"": refusal.message}), status=422)
    except refusals.Stale as refusal:
        return _draw(request, page, given, status=409, conflict=refusal.message)
    return _draw(request, page, given)


def _tried(request: doors.Request, page: edit_page.EditPage) -> HttpResponse:
    """Return how far the person's newest try has come."""
    tried = edit_page.tried(page.review_id, doors.viewer(request), digest=request.GET.get("of"))
    return render(request, "edit.html#try", {"page": page, "tried": tried})


def _edit(given: forms.Given) -> edits.Edit:
    return edits.Edit(
        arguments=given.arguments,
        reason=given.reason,
        revision=given.revision,
        digest=given.digest,
        token=given.token,
    )


def _draw(
    request: doors.Request,
    page: edit_page.EditPage,
    given: forms.Given,
    *,
    status: int = 200,
    conflict: str = "",
) -> HttpResponse:
    """Return the whole page, only its form where a button changed that, or only what is said about what was typed."""
    part = ""
    if request.htmx and request.method == "POST" and not conflict:
        part = "#notes" if given.wants == forms.LIVE else "#form"
    tried = None
    if request.method == "POST":
        digest = exact.EMPTY if given.arguments is None else exact.digest_of(given.arguments)
        tried = edit_page.tried(page.review_id, doors.viewer(request), digest=digest)
    context = {
        "section": "inbox",
        "page": page,
        "form": given,
        "changes": edit_page.shown(given.changes),
        "conflict": conflict,
        "tried": tried,
        "live": part == "#notes",
        "way": flash.way(request),
    }
    response = render(request, f"edit.html{part}", context, status=status)
    return doors.whole(request, response) if conflict else response
