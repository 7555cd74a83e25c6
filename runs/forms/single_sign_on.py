"""What an identity provider says about who comes from it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FRESH = 120.0
"""Who is asked again must have signed in there within so many seconds."""
SKEW = 60.0
"""So far may the provider's clock be ahead."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """A person as the identity provider names them; `verified` says whether the address is proven to be theirs."""

    email: str
    verified: bool
    name: str
    names: tuple[str, str]


def read(data: Mapping[str, Any]) -> Said:
    """Return what was said; whatever is no text is as good as not said."""
    told = data.get("userinfo") or data.get("id_token") or {}

    def text(name: str) -> str:
        value = told.get(name)
        return value.strip() if isinstance(value, str) and "\x00" not in value else ""

    email = text("email")
    return Said(
        email=email,
        verified=told.get("email_verified") in {True, "true"},
        name=text("preferred_username") or email.partition("@")[0],
        names=(text("given_name"), text("family_name")),
    )


def age(data: Mapping[str, Any]) -> float | None:
    """Return for how many seconds the person has been signed in there (`auth_time`); None where it isn't said."""
    since = (data.get("id_token") or {}).get("auth_time")
    if not isinstance(since, int | float) or isinstance(since, bool):
        return None
    found = time.time() - since
    return None if found < -SKEW else max(0.0, found)


def strong(data: Mapping[str, Any]) -> bool:
    """Return whether the provider has asked for more than a password (`amr`), as its signed token says."""
    methods = (data.get("id_token") or {}).get("amr")
    return isinstance(methods, list) and "mfa" in methods
