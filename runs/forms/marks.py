"""The time at which a form was drawn, signed so that nobody can claim to have looked later than they did."""

from __future__ import annotations

import datetime

from django.core import signing

SALT = "runs.forms.rendered_at"


def sign(moment: datetime.datetime, *, review_id: int) -> str:
    """Return the signed text of the moment for the form of this review."""
    return signing.Signer(salt=SALT).sign(f"{review_id}|{moment.isoformat()}")


def read(text: str, *, review_id: int) -> datetime.datetime | None:
    """Return the moment that the form carries, or None if it is missing, forged or another review's."""
    try:
        owner, _, moment = signing.Signer(salt=SALT).unsign(text).partition("|")
        return datetime.datetime.fromisoformat(moment) if owner == str(review_id) else None
    except (signing.BadSignature, ValueError):
        return None
