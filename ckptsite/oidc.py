"""Single sign-on over OpenID Connect, from the environment; off unless an issuer is named. No Django in here."""

from __future__ import annotations

from typing import Any

from ckptsite import env

PROVIDER = "sso"
"""Part of the address that the identity provider leads back to."""


def apps() -> list[dict[str, Any]]:
    """Return the one identity provider as the sign-in library spells it, or none; refuses half a configuration."""
    issuer = env.text("CKPTSITE_OIDC_ISSUER")
    client, secret = env.text("CKPTSITE_OIDC_CLIENT_ID"), env.text("CKPTSITE_OIDC_CLIENT_SECRET")
    if not issuer:
        return []
    if not client or not secret:
        raise env.EnvError(
            "CKPTSITE_OIDC_ISSUER needs CKPTSITE_OIDC_CLIENT_ID and CKPTSITE_OIDC_CLIENT_SECRET too."
        )
    return [app(issuer, client, secret, name=env.text("CKPTSITE_OIDC_NAME", "single sign-on"))]


def app(issuer: str, client: str, secret: str, *, name: str) -> dict[str, Any]:
    """Return one identity provider: proof keys (PKCE) always, and what it says at its userinfo address counts."""
    return {
        "provider_id": PROVIDER,
        "name": name,
        "client_id": client,
        "secret": secret,
        "settings": {"server_url": issuer, "oauth_pkce_enabled": True},
    }
