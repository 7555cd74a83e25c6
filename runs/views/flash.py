"""What was just done, shown once on the page that follows a decision."""

from __future__ import annotations

from urllib.parse import urlencode

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
