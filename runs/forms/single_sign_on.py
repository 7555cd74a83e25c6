"""What an identity provider says about who comes from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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


def strong(data: Mapping[str, Any]) -> bool:
    """Return whether the provider has asked for more than a password (`amr`), as its signed token says."""
    methods = (data.get("id_token") or {}).get("amr")
    return isinstance(methods, list) and "mfa" in methods
