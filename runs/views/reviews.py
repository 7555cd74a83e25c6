"""The review page: reading a question, answering it, taking an approval back."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods, require_POST

from runs import access, models, rights
from runs.forms import answers as answer_form
from runs.forms import decisions as forms
from runs.forms import marks
from runs.selectors import queue, review_before, review_models
from runs.selectors import reviews as selector
from runs.transitions import decisions, refusals
from runs.views import doors, flash


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.VIEW)
def review(request: doors.Request, review_id: int) -> HttpResponse:
    """Show the question, its live part, or take an answer. A GET never decides."""
    row = access.review_for(request.user, review_id)
    if request.method == "POST":
        return _decide(request, row)
    if request.GET.get("part") == "came":
        came = selector.came(row.pk, doors.viewer(request))
        return render(request, "_shared/came.html", {"came": came}) if came else HttpResponse("")
    page = page_of(request, row)
    if request.GET.get("part") == "live":
        response = render(request, "review.html#live", _live(request, page))
        if request.GET.get("preparing") and not page.preparing:
            response["HX-Refresh"] = "true"  # nobody can have typed anything: the page only waited for this
        return response
    return render(request, "review.html", {**context_of(page), "done": flash.done(request)})


@require_POST
@doors.allowed(rights.Act.VIEW)
def withdraw(request: doors.Request, review_id: int) -> HttpResponse:
    """Take an approval back before its effect has started; 409 once it has."""
    row = access.review_for(request.user, review_id)
    access.require(request.user, rights.Act.DECIDE)
    decisions.withdraw(row.pk, by=doors.actor(request))
    place = reverse("review", args=[row.pk])
    sentence = 'Taken back. Nothing was done; <a href="{}">it is asked again</a>.'
    messages.success(request, format_html(sentence, place))
    return doors.lead(request, flash.back(request, otherwise=place))


@require_POST
@doors.allowed(rights.Act.VIEW)
def extend(request: doors.Request, review_id: int) -> HttpResponse:
    """Give the question a later end; 422 without a reason, 409 once it is closed."""
    row = access.review_for(request.user, review_id)
    access.require(request.user, rights.Act.DECIDE)
    reason = request.POST.get("reason", "")
    draft, conflict = review_models.Draft(verdict="extend", reason=reason), ""
    try:
        decisions.extend(row.pk, reason=reason, by=doors.actor(request))
    except refusals.Invalid as refusal:
        draft = replace(draft, errors={"reason": refusal.message})
    except refusals.Stale as refusal:
        conflict = refusal.message
    else:
        messages.success(request, "It has more time now.")
        return doors.lead(request, reverse("review", args=[row.pk]))
    return kept(request, row, draft, conflict)


def kept(
    request: doors.Request, row: models.Review, draft: review_models.Draft, conflict: str
) -> HttpResponse:
    """Return the whole page with what was typed, and why it wasn't taken."""
    context = context_of(page_of(request, row), draft=draft)
    if conflict:
        context["conflict"] = review_models.Conflict(sentence=conflict)
    return render(request, "review.html", context, status=409 if conflict else 422)


def _decide(request: doors.Request, row: models.Review) -> HttpResponse:
    """Take the answer at once when the form is whole; the page is read again only to say what is wrong."""
    viewer = doors.viewer(request)
    given = forms.read(request.POST.dict(), _asked(row))
    if given.errors or not selector.sound(row):
        page = page_of(request, row)
        if page.status == "open" and _not_theirs(page, given):
            raise refusals.NotYours(page.blocked or page.approval_blocked)
        if given.errors and page.status == "open" and _fresh(page, given):
            return _again(request, page, given, 422, errors=given.errors)
    try:
        decision = decisions.decide(row.pk, _answer(given), by=doors.actor(request))
    except refusals.NotYours as refusal:
        page = page_of(request, row)
        raise refusals.NotYours(page.blocked or page.approval_blocked or refusal.message) from refusal
    except refusals.Invalid as refusal:
        return _again(request, page_of(request, row), given, 422, errors={"": refusal.message})
    except refusals.Stale as refusal:
        return _again(request, page_of(request, row), given, 409, conflict=refusal.message)
    after = access.review_for(request.user, decision.review_id)
    chosen = flash.came_from(request)
    following = queue.next_for(viewer, after=after, chosen=chosen)
    return doors.lead(request, flash.following(following, done=after.pk, back=chosen.query))


def _not_theirs(page: review_models.ReviewPage, given: forms.Given) -> bool:
    """Return whether this person may not give this answer at all."""
    return not page.may_decide or (given.verdict == decisions.APPROVE and bool(page.approval_blocked))


def _fresh(page: review_models.ReviewPage, given: forms.Given) -> bool:
    """Return whether the form shows the question as it stands: else what was typed is about something else."""
    known = given.tightened in {None, page.marks.tightened}
    return known and (given.revision, given.digest) == (page.marks.revision, page.marks.digest)


def _asked(row: models.Review) -> forms.Asked:
    retype = selector.retype(row)
    return forms.Asked(
        review_id=row.pk,
        kind=row.kind,
        reason_required=selector.reason_required(row),
        retype=retype.value if retype else None,
        retype_label=retype.label if retype else "",
        measure=selector.measure(row),
        again=review_before.marked(row),
    )


def _answer(given: forms.Given) -> decisions.Answer:
    return decisions.Answer(
        verdict=given.verdict,
        revision=given.revision,
        digest=given.digest,
        token=given.token,
        reason=given.reason,
        retype=given.retype,
        receipt=given.receipt,
        amount=given.raise_by,
        which=given.which,
        evidence_number=given.evidence_number,
        tightened=given.tightened,
        rendered_at=given.rendered_at,
        stop=given.verdict == decisions.REJECT and given.then == "stop",
    )


def _again(
    request: doors.Request,
    page: review_models.ReviewPage,
    given: forms.Given,
    status: int,
    *,
    errors: dict[str, str] | None = None,
    conflict: str = "",
) -> HttpResponse:
    """Return the page, or its form, with everything that was typed.

    After a conflict htmx gets the whole page: the arguments above the form may be others now, and nobody may approve
    what the page doesn't show.
    """
    draft = review_models.Draft(
        verdict=given.verdict,
        reason=given.reason,
        then=given.then,
        retype=given.retype,
        receipt=given.receipt,
        amount=given.amount,
        which=given.which,
        errors=errors or {},
    )
    context = context_of(page, draft=draft)
    if conflict:
        context["conflict"] = review_models.Conflict(sentence=conflict)
    if not request.htmx or conflict:
        return doors.whole(request, render(request, "review.html", context, status=status))
    return render(request, "review.html#decide", context, status=status)


def page_of(request: doors.Request, row: models.Review) -> review_models.ReviewPage:
    """Return the page of a review for who asks."""
    return selector.page(row.pk, doors.viewer(request), flash.came_from(request))


def context_of(
    page: review_models.ReviewPage, *, draft: review_models.Draft | None = None
) -> dict[str, object]:
    """Return what the template needs besides the page: what was typed, and what the page shows of the question."""
    return {
        "form": answer_form.begin(page.question.schema) if page.question else None,
        "section": "inbox",
        "page": page,
        "draft": draft or review_models.Draft(),
        "seen": _seen(page),
        "rendered_at": marks.sign(page.marks.rendered_at, review_id=page.review_id),
    }


def _live(request: doors.Request, page: review_models.ReviewPage) -> dict[str, object]:
    """Return the context of the live part, which keeps comparing with what was on the page when it was drawn."""
    now = _seen(page)
    seen = {name: request.GET.get(name, "") for name in now}
    return {**context_of(page), "seen": seen, "stale": _stale(page, seen, now)}


def _seen(page: review_models.ReviewPage) -> dict[str, str]:
    return {
        "digest": page.marks.digest,
        "evidence": str(page.marks.evidence),
        "tightened": str(page.marks.tightened),
        "status": page.status,
        "again": str(page.again_id or ""),
        "preparing": "1" if page.preparing else "",
    }


def _stale(page: review_models.ReviewPage, seen: dict[str, str], now: dict[str, str]) -> str:
    """Return what has changed since the page was drawn, or an empty text."""
    if seen["status"] != now["status"]:
        return page.outcome or "This is open again."
    if seen["again"] != now["again"]:
        return "This is asked again."
    if seen["digest"] != now["digest"]:
        return "This has changed since you opened it."
    if seen["tightened"] != now["tightened"]:
        return page.judged
    if seen["evidence"] != now["evidence"]:
        return "New evidence has arrived since you opened this."
    return ""
