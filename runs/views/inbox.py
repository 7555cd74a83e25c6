"""The inbox and its fragments."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs import rights
from runs.selectors import inbox as selector
from runs.selectors import inbox_news
from runs.views import doors, flash


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
