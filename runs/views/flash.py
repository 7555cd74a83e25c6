"""What was just done, shown once on the page that follows a decision."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit

from django.urls import reverse

from runs.selectors import review_models, reviews
from runs.views import doors

PARAMETER = "done"


def done(request: doors.Request) -> review_models.Done | None:
    """Return the decision that the address speaks of, if it is this person's own."""
    number = request.GET.get(PARAMETER, "")
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        return None
    return reviews.done(int(number), doors.viewer(request))


def following(next_id: int | None, *, done: int) -> str:
    """Return the address of the next question, or of the inbox, that will say what was just done."""
    place = reverse("review", args=[next_id]) if next_id else reverse("inbox")
    return f"{place}?{urlencode({PARAMETER: done})}"


def back(request: doors.Request, *, otherwise: str) -> str:
    """Return the page that the form stood on, without what it said had just been done; or else `otherwise`."""
    parts = urlsplit(request.headers.get("Referer", ""))
    if parts.netloc != request.get_host() or not parts.path.startswith("/"):
        return otherwise
    kept = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name != PARAMETER])
    return f"{parts.path}?{kept}" if kept else parts.path
