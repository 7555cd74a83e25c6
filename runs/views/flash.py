"""What was just done, shown once on the page that follows a decision."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

from django.urls import reverse

from runs.selectors import filters, review_models, reviews
from runs.views import doors

PARAMETER, CAME_FROM = "done", "from"


def done(request: doors.Request) -> review_models.Done | None:
    """Return the decision that the address speaks of, if it is this person's own."""
    number = request.GET.get(PARAMETER, "")
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        return None
    return reviews.done(int(number), doors.viewer(request))


def following(next_id: int | None, *, done: int, back: str = "") -> str:
    """Return the address of the next question, or of the inbox, that will say what was just done."""
    return onwards(next_id, back=back, told={PARAMETER: done})


def onwards(next_id: int | None, *, back: str, told: Mapping[str, int] | None = None) -> str:
    """Return the address of the next question, or of the inbox where there is none.

    `back` is the query string of the list that the person works through; it goes along. The next question isn't fetched
    beforehand: it has to be shown as it stands then, and asking whether it still does takes as long as drawing it.
    """
    if next_id:
        query = urlencode({**(told or {}), **({CAME_FROM: back} if back else {})})
        place = reverse("review", args=[next_id])
    else:
        query = "&".join(part for part in (back, urlencode(told or {})) if part)
        place = reverse("inbox")
    return f"{place}?{query}" if query else place


def came_from(request: doors.Request) -> filters.Filters:
    """Return the list that the person came from to a question: the address or the form carries it."""
    given = request.POST.get(CAME_FROM) or request.GET.get(CAME_FROM, "")
    return filters.of(given)


def way(request: doors.Request) -> str:
    """Return what an address needs so that the list goes along which the person came from."""
    found = came_from(request).query
    return f"?{urlencode({CAME_FROM: found})}" if found else ""


def back(request: doors.Request, *, otherwise: str) -> str:
    """Return the page that the form stood on, without what it said had just been done; or else `otherwise`."""
    parts = doors.own_parts(request, request.headers.get("Referer", ""))
    if parts is None:
        return otherwise
    kept = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name != PARAMETER])
    return f"{parts.path}?{kept}" if kept else parts.path
