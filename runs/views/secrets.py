"""Which secrets there are, for administrators; they are set at the shell, and no page knows a value."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs import rights
from runs.selectors import secrets_page
from runs.views import doors


@require_safe
@doors.allowed(rights.Act.SECRETS)
def secrets(request: doors.Request) -> HttpResponse:
    """List them by name."""
    page = secrets_page.page(request.GET.dict())
    return render(request, "secrets.html", {"section": "secrets", "page": page})
