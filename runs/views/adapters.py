"""Where the sign-in library asks for this site's ways: words, addresses, who may come in, what is kept of a sign-in."""

from __future__ import annotations

import base64
import json
from typing import Any

from allauth.account import authentication
from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse

from runs import exact, models
from runs.forms import single_sign_on
from runs.transitions import people, sessions
from runs.transitions.actor import Actor
from runs.views import doors, errors

TOO_MANY = "Too many wrong tries. Wait 15 minutes, then try again."
SSO = "single sign-on"
CODE = "This code is wrong, or was used already."


class Account(DefaultAccountAdapter):
    """Accounts are made by administrators; who signs in is in the audit trail, and the session says how."""

    error_messages = {
        **DefaultAccountAdapter.error_messages,
        "username_password_mismatch": "User name or password is wrong. Capital and small letters differ.",
        "too_many_login_attempts": TOO_MANY,
        "rate_limited": TOO_MANY,
        "incorrect_password": "This password is wrong. Capital and small letters differ.",
        "enter_current_password": "This is not your present password.",
        "incorrect_code": CODE,
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Nobody signs up."""
        return False

    def get_login_stages(self) -> list[str]:
        """After the password comes the second factor, and nothing else."""
        return ["allauth.mfa.stages.AuthenticateStage"]

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address by which tries are counted; behind a server that gives none they count together."""
        return doors.address(request) or "nowhere"

    def post_login(self, request: HttpRequest, user: models.User, **more: Any) -> HttpResponse:
        """Keep of the session where it began and what was shown, then lead on."""
        shown = [_shown(record) for record in authentication.get_authentication_records(request, user)]
        sessions.began(
            request.session,  # type: ignore[arg-type]  # ours, by the settings
            user,
            strong=any(name not in {"password", SSO} for name in shown) or _vouched(more),
            agent=request.headers.get("User-Agent", ""),
            how=shown,
            by=Actor(user=user, ip=doors.address(request)),
            shown_before=_before(more),
        )
        response: HttpResponse = super().post_login(request, user, **more)
        return response

    def set_password(self, user: models.User, password: str) -> None:
        """Give the person the password that they chose."""
        people.change_password(user, password, by=doors.actor(context.request))

    def add_message(self, *args: Any, **kwargs: Any) -> None:
        """Say nothing in the library's words; pages say what happened in their own."""


class Factors(DefaultMFAAdapter):
    """Secrets of second factors are encrypted where they lie, so that a copy of the database gives none away."""

    error_messages = {**DefaultMFAAdapter.error_messages, "incorrect_code": CODE}

    def encrypt(self, text: str) -> str:
        """Return the text as it is stored."""
        return str(_fernet().encrypt(text.encode()), "ascii")

    def decrypt(self, encrypted_text: str) -> str:
        """Return the text again."""
        return str(_fernet().decrypt(encrypted_text.encode()), "utf-8")

    def get_public_key_credential_user_entity(self, user: AbstractBaseUser) -> dict[str, Any]:
        """Return whom a passkey is for, as the person's device shows it."""
        assert isinstance(user, models.User)
        return {**super().get_public_key_credential_user_entity(user), "display_name": user.display()}


class SingleSignOn(DefaultSocialAccountAdapter):
    """Who comes from the identity provider: a person who is known here, or a new one where that is allowed."""

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Find whose account it is, or make it. Refuses with a page, and notes, whom nobody knows here.

        Whoever is signed in already was asked again who they are: a sign-in there that isn't new is refused.
        """
        if request.user.is_authenticated:
            since = single_sign_on.age(sociallogin.account.extra_data)
            if since is None or since > single_sign_on.FRESH:
                assert isinstance(request.user, models.User)
                by = doors.actor(request)  # type: ignore[arg-type]  # who is signed in makes it one
                people.not_proved(request.user, code="wrong", by=by)
                sentence = "The identity provider didn't ask you anew, or doesn't say so. Sign out there and try again."
                raise ImmediateHttpResponse(errors.draw(request, 403, sentence=sentence))
        if sociallogin.is_existing:
            return
        said = single_sign_on.read(sociallogin.account.extra_data)
        by = Actor(user=None, ip=doors.address(request))
        user = people.from_outside(
            said.email, verified=said.verified, name=said.name, names=said.names, by=by
        )
        if user is None:
            sentence = (
                "Nobody here has your e-mail address. An administrator can add you, or allow your domain."
            )
            raise ImmediateHttpResponse(errors.draw(request, 403, sentence=sentence))
        sociallogin.connect(request, user)

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Nobody is made without the rule above."""
        return False

    def on_authentication_error(self, request: HttpRequest, provider: Any, **more: Any) -> None:
        """Say that it failed, and leave a line among the refused attempts."""
        people.not_signed_in("", code="wrong", ip=doors.address(request))
        sentence = "The identity provider didn't let you in, or its answer can't be trusted. Try again."
        raise ImmediateHttpResponse(errors.draw(request, 403, sentence=sentence))


def options(context: dict[str, Any]) -> str:
    """Return what a browser's passkey has to sign, as the page carries it; empty where there is none."""
    told = context.get("js_data") or {}
    return json.dumps(told.get("request_options") or told.get("creation_options") or {}) if told else ""


def too_many(error: ValidationError | None) -> bool:
    """Return whether this is about too many tries."""
    return error is not None and TOO_MANY in error.messages


def _shown(record: dict[str, Any]) -> str:
    if record["method"] == "mfa":
        return {"totp": "code", "recovery_codes": "recovery code", "webauthn": "passkey"}[record["type"]]
    return SSO if record["method"] == "socialaccount" else str(record["method"])


def _vouched(more: dict[str, Any]) -> bool:
    """Return whether the identity provider says that it has seen a second factor."""
    login = (more.get("signal_kwargs") or {}).get("sociallogin")
    return login is not None and single_sign_on.strong(login.account.extra_data)


def _before(more: dict[str, Any]) -> float | None:
    """Return for how long the person has been signed in at the identity provider; nothing for who signs in here."""
    login = (more.get("signal_kwargs") or {}).get("sociallogin")
    return 0.0 if login is None else single_sign_on.age(login.account.extra_data)


def _fernet() -> Any:
    from cryptography.fernet import Fernet  # noqa: PLC0415 - dear to load, and only second factors need it

    key = bytes.fromhex(exact.seal(settings.KEY_HMAC, "second factors"))
    return Fernet(base64.urlsafe_b64encode(key))
