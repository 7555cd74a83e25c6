"""What a program is told of a notice: the same bytes on each try. No argument of an action is in it."""

from __future__ import annotations

import datetime
from typing import Any

from django.conf import settings

from runs import exact, models


def of(notice: models.Notice) -> dict[str, Any]:
    """Return the body: what happened, when, and what it is about, as it stands now."""
    data: dict[str, Any] = {}
    if notice.review is not None:
        data["review"] = _review(notice.review)
    if notice.run is not None:
        data["run"] = {
            "id": notice.run.pk,
            "title": notice.run.title,
            "status": notice.run.status,
            "url": address("runs", notice.run.pk),
        }
    if notice.by is not None:
        data["by"] = notice.by.get_username()
    if notice.content:
        data["said"] = dict(notice.content)
    body = {"type": notice.kind, "timestamp": _moment(notice.at), "data": data}
    found: dict[str, Any] = exact.stored(exact.canonical(body, limit=None))
    return found


def address(page: str, number: int) -> str:
    """Return the full address of a page, such as "reviews" and 7. The clock loads no page to ask for it."""
    return f"{settings.PUBLIC_URL}/{page}/{number}/"


def _review(review: models.Review) -> dict[str, Any]:
    return {
        "id": review.pk,
        "kind": review.kind,
        "title": review.title,
        "tier": review.tier,
        "status": review.status,
        "revision": review.revision,
        "digest": review.digest,
        "groups": list(review.groups),
        "due_at": _moment(review.due_at),
        "url": address("reviews", review.pk),
    }


def _moment(value: datetime.datetime) -> str:
    return value.astimezone(datetime.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
