"""The inbox and its fragments, its saved views, and its export."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from runs import access, rights
from runs.selectors import exports, filters, inbox_models, inbox_news
from runs.selectors import inbox as selector
from runs.transitions import refusals, saved_views
from runs.views import doors, flash, streams


@require_safe
@doors.allowed(rights.Act.VIEW)
def inbox(request: doors.Request) -> HttpResponse:
    """What waits and what was decided; `part` asks for a fragment."""
    params = request.GET.dict()
    match params.get("part"):
        case "count":
            return render(request, "_shared/queue_count.html")
        case "news":
            news = inbox_news.news(doors.viewer(request), params)
            if news.fresh and news.empty:  # no row could move under somebody's cursor: show them at once
                page = selector.page(doors.viewer(request), params)
                response = render(request, "inbox.html#list", {"page": page})
                response["HX-Retarget"], response["HX-Reswap"] = "#list", "outerMorph"
                return response
            known = {"known": params.get("known", "")}
            return render(request, "inbox.html#news", {"news": news, "page": known})
    page = selector.page(doors.viewer(request), params)
    return render(request, "inbox.html", {"section": "inbox", "page": page, "done": flash.done(request)})


@require_safe
@doors.allowed(rights.Act.VIEW)
def export(request: doors.Request, form: str) -> HttpResponseBase:
    """Stream what the filters leave, as a file."""
    chosen = filters.read(request.GET.dict())
    write, kind = (exports.as_csv, "text/csv") if form == "csv" else (exports.as_json, "application/json")
    parts = write(doors.viewer(request), chosen)
    name = f"inbox-{chosen.tab or 'mine'}-{timezone.localtime():%Y-%m-%d}.{form}"
    return streams.file(request, parts, name=name, kind=f"{kind}; charset=utf-8")


@require_POST
@doors.allowed(rights.Act.VIEW)
def save_view(request: doors.Request) -> HttpResponse:
    """Keep the filters under a name; 422 keeps what was typed."""
    chosen = filters.of(request.POST.get("query", ""))
    name, shared = request.POST.get("name", ""), request.POST.get("shared") == "1"
    try:
        made = saved_views.save(name, chosen.query, shared=shared, owner=request.user)
    except refusals.Invalid as refusal:
        return _again(
            request, chosen, inbox_models.ViewDraft(name=name, shared=shared, error=refusal.message)
        )
    messages.success(request, f"Saved as “{made.name}”.")
    return doors.lead(request, f"{reverse('inbox')}?{made.query}")


@require_POST
@doors.allowed(rights.Act.VIEW)
def change_view(request: doors.Request, view_id: int) -> HttpResponse:
    """Rename, share or delete one's own view; 404 for anybody else's."""
    view = access.view_for(request.user, view_id)
    if request.POST.get("act") == "delete":
        saved_views.delete(view)
        messages.success(request, f"“{view.name}” is deleted; the questions are as they were.")
        return doors.lead(request, f"{reverse('inbox')}?{view.query}")
    name, shared = request.POST.get("name", ""), request.POST.get("shared") == "1"
    try:
        saved_views.change(view, name, shared=shared)
    except refusals.Invalid as refusal:
        draft = inbox_models.ViewDraft(name=name, shared=shared, error=refusal.message, view_id=view.pk)
        return _again(request, filters.of(view.query), draft)
    messages.success(request, f"Saved as “{view.name}”.")
    return doors.lead(request, f"{reverse('inbox')}?{view.query}")


def _again(request: doors.Request, chosen: filters.Filters, draft: inbox_models.ViewDraft) -> HttpResponse:
    page = selector.page(doors.viewer(request), dict(chosen.parts))
    return render(request, "inbox.html", {"section": "inbox", "page": page, "draft": draft}, status=422)
