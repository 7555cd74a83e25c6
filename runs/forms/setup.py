"""The one-time link with which the first administrator is made."""

from __future__ import annotations

from django.conf import settings
from django.core import signing
from django.urls import reverse

SALT = "runs.forms.setup"
HOURS = 24


def address() -> str:
    """Return a new link; it works for a day, and only while there is no administrator."""
    token = signing.TimestampSigner(salt=SALT).sign("first-administrator")
    return f"{settings.PUBLIC_URL}{reverse('setup', args=[token])}"


def valid(token: str) -> bool:
    """Return whether the token is ours and not too old."""
    try:
        signing.TimestampSigner(salt=SALT).unsign(token, max_age=HOURS * 3600)
    except signing.BadSignature:
        return False
    return True
