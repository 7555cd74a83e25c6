"""What one signs in with, and where one is signed in."""

from __future__ import annotations

from dataclasses import dataclass

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount

from runs import models
from runs.selectors import deciding, devices, page_models, settings_page


@dataclass(frozen=True, kw_only=True)
class Passkey:
    number: int
    name: str
    added_at: page_models.Moment
    used_at: page_models.Moment | None


@dataclass(frozen=True, kw_only=True)
class SecurityPage:
    tabs: tuple[page_models.Tab, ...]
    password: bool
    elsewhere: bool  # whether they come over the identity provider
    app: page_models.Moment | None  # since when an app shows codes
    codes: int | None  # recovery codes that are left
    passkeys: tuple[Passkey, ...]
    sessions: int


@dataclass(frozen=True, kw_only=True)
class SessionRow:
    digest: str
    device: str
    ip: str
    began_at: page_models.Moment
    seen_at: page_models.Moment
    strong: bool
    here: bool


@dataclass(frozen=True, kw_only=True)
class SessionsPage:
    tabs: tuple[page_models.Tab, ...]
    rows: tuple[SessionRow, ...]
    others: int


def factors(viewer: deciding.Viewer) -> SecurityPage:
    """Return what somebody signs in with."""
    rows = list(Authenticator.objects.filter(user_id=viewer.user.pk).order_by("pk"))
    kinds = Authenticator.Type
    codes = next((row for row in rows if row.type == kinds.RECOVERY_CODES), None)
    return SecurityPage(
        tabs=settings_page.tabs("mfa_index"),
        password=viewer.user.has_usable_password(),
        elsewhere=SocialAccount.objects.filter(user_id=viewer.user.pk).exists(),
        app=next((row.created_at for row in rows if row.type == kinds.TOTP), None),
        codes=len(codes.wrap().get_unused_codes()) if codes else None,
        passkeys=tuple(
            Passkey(number=row.pk, name=row.data["name"], added_at=row.created_at, used_at=row.last_used_at)
            for row in rows
            if row.type == kinds.WEBAUTHN
        ),
        sessions=models.Session.objects.filter(models.Session.open(), user=viewer.user).count(),
    )


def sessions(viewer: deciding.Viewer, *, here: models.Session | None) -> SessionsPage:
    """Return the sessions of somebody that are open, this one first, then by when they were last seen."""
    rows = models.Session.objects.filter(models.Session.open(), user=viewer.user).order_by("-seen_at")
    found = [
        SessionRow(
            digest=row.digest,
            device=devices.words(row.agent),
            ip=row.ip or "",
            began_at=row.began_at,
            seen_at=row.seen_at,
            strong=row.strong,
            here=here is not None and row.pk == here.pk,
        )
        for row in rows
    ]
    return SessionsPage(
        tabs=settings_page.tabs("sessions"),
        rows=tuple(sorted(found, key=lambda row: not row.here)),
        others=sum(not row.here for row in found),
    )
