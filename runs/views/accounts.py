"""The first administrator's way in."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from runs import access
from runs.forms import accounts as forms
from runs.forms import setup as links
from runs.transitions import people
from runs.views import doors


@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: HttpRequest, token: str) -> HttpResponse:
    """Make the first administrator and sign them in; 404 for a link that is old, forged or no longer needed."""
    if not links.valid(token) or people.administrator_exists():
        raise access.NotThere(
            "There is no set-up to do with this link: it is older than a day, or it was used already."
        )
    form = forms.FirstAdministrator(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = people.make_first_administrator(form.save(commit=False), ip=doors.address(request))
        login(request, user)
        response = HttpResponseRedirect(reverse("inbox"))
        response.status_code = 303
        return response
    errors = {name: " ".join(map(str, found)) for name, found in form.errors.items()}
    return render(request, "setup.html", {"form": form, "errors": errors}, status=422 if errors else 200)


@require_safe
def admin_login(request: HttpRequest) -> HttpResponse:
    """Lead to the one sign-in page, whose limit on wrong tries the administration shall not bypass."""
    back = request.GET.get("next", reverse("admin:index"))
    return HttpResponseRedirect(f"{reverse(settings.LOGIN_URL)}?{urlencode({'next': back})}")
