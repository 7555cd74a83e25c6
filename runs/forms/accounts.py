"""Signing in, with a limit on wrong tries, and the form of the first administrator."""

from __future__ import annotations

import hashlib
from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import AuthenticationForm, BaseUserCreationForm
from django.core.cache import cache
from django.http import HttpRequest

TRIES = 10
WINDOW_SECONDS = 15 * 60


class TooManyTries(forms.ValidationError):
    """This name was tried too often from this address."""


class SignIn(AuthenticationForm):
    """Django's form; after ten wrong tries for a name from one address it refuses for a while."""

    error_messages = {
        "invalid_login": "User name or password is wrong. Capital and small letters differ.",
        "inactive": "This account is switched off; an administrator can switch it on.",
    }

    def clean(self) -> dict[str, Any]:
        """Return the fields of somebody who may sign in."""
        key = _key(self.request, str(self.cleaned_data.get("username", "")))
        if cache.get(key, 0) >= TRIES:
            raise TooManyTries(
                f"Too many wrong tries. Wait {WINDOW_SECONDS // 60} minutes, then try again.", code="too_many"
            )
        try:
            cleaned: dict[str, Any] = super().clean()
        except forms.ValidationError:
            cache.add(key, 0, WINDOW_SECONDS)
            cache.incr(key)
            raise
        cache.delete(key)
        return cleaned


class FirstAdministrator(BaseUserCreationForm):  # type: ignore[type-arg]  # django-stubs wants the model twice
    """Name and password of the first administrator."""

    class Meta:
        """The custom user model."""

        model = get_user_model()
        fields = ("username",)


def _key(request: HttpRequest | None, username: str) -> str:
    place = request.META.get("REMOTE_ADDR", "") if request else ""
    return "sign-in:" + hashlib.sha256(f"{place}|{username.casefold()}".encode()).hexdigest()
