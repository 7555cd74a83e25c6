"""The audit trail: the page, the same as a file, and the check of its chain."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from runs import access, rights
from runs.selectors import audit_files, audit_filters, audit_page, blind
from runs.transitions import chain_checks
from runs.views import doors, streams


@require_safe
@doors.allowed(rights.Act.AUDIT)
def audit(request: doors.Request) -> HttpResponseBase:
    """Who did what, and what was refused; with `as=csv` or `as=jsonl` as a file, with `print=1` for paper."""
    access.whole(request.user, rights.Act.AUDIT)
    params, unread = request.GET.dict(), blind.unread(doors.viewer(request))
    kind = params.get("as", "")
    if kind in audit_files.TYPES:
        parts = audit_files.written(params, kind, unread=unread)
        return streams.file(request, parts, name=audit_files.name(params, kind), kind=audit_files.TYPES[kind])
    if params.get("part") == "chain":
        return render(
            request, "audit.html#chain", {"chain": audit_page.chain(), "listed": params.get("at", "")}
        )
    page = audit_page.page(params, unread=unread)
    return render(
        request, "audit.html", {"section": "audit", "page": page, "chain": page.chain, "listed": page.query}
    )


@require_POST
@doors.allowed(rights.Act.AUDIT)
def check(request: doors.Request) -> HttpResponse:
    """Ask that the chain be checked, from its first line or from where the last check ended; 409 while one is."""
    access.whole(request.user, rights.Act.AUDIT)
    chain_checks.ask(whole=request.POST.get("whole") == "1", by=doors.actor(request))
    messages.success(request, "Asked for. The clock checks it piece by piece.")
    listed = audit_filters.read(QueryDict(request.POST.get("at", "")).dict()).query()
    return doors.lead(request, f"{reverse('audit')}?{listed}" if listed else reverse("audit"))
