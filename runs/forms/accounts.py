"""Signing in, with limits on wrong tries, and the form of the first administrator."""

from __future__ import annotations

import hashlib
from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import AuthenticationForm, BaseUserCreationForm
from django.core.cache import cache

from runs.forms import rates

TRIES = 10
NAME_TRIES = 50
WINDOW_SECONDS = 15 * 60


class TooManyTries(forms.ValidationError):
    """This name was tried too often from this address."""


class SignIn(AuthenticationForm):
    """Django's form; it refuses for a while after ten wrong tries for a name from one address, or fifty from any."""

    error_messages = {
        "invalid_login": "User name or password is wrong. Capital and small letters differ.",
        "inactive": "This account is switched off; an administrator can switch it on.",
    }

    def clean(self) -> dict[str, Any]:
        """Return the fields of somebody who may sign in."""
        place = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        name = str(self.cleaned_data.get("username", ""))
        here, anywhere = _key(place, name), _key("", name)
        # Counted before the password is looked at, so that tries sent side by side count too.
        tries = rates.counted(here, WINDOW_SECONDS), rates.counted(anywhere, WINDOW_SECONDS)
        if tries[0] > TRIES or tries[1] > NAME_TRIES:
            raise TooManyTries(
                f"Too many wrong tries. Wait {WINDOW_SECONDS // 60} minutes, then try again.", code="too_many"
            )
        cleaned: dict[str, Any] = super().clean()
        cache.delete_many([here, anywhere])
        return cleaned


class FirstAdministrator(BaseUserCreationForm):  # type: ignore[type-arg]  # django-stubs wants the model twice
    """Name and password of the first administrator."""

    class Meta:
        """The custom user model."""

        model = get_user_model()
        fields = ("username",)


def _key(place: str, username: str) -> str:
    return "sign-in:" + hashlib.sha256(f"{place}|{username.casefold()}".encode()).hexdigest()
