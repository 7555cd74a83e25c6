"""Signing in, and the form of the first administrator."""

from __future__ import annotations

from allauth.account.forms import LoginForm
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import BaseUserCreationForm


class SignIn(LoginForm):
    """The library's form, with the name's field called as browsers and scripts know it: `username`."""

    def add_prefix(self, field_name: str) -> str:
        """Return what a field is called in the page."""
        name: str = super().add_prefix("username" if field_name == "login" else field_name)
        return name


class FirstAdministrator(BaseUserCreationForm):  # type: ignore[type-arg]  # django-stubs wants the model twice
    """Name and password of the first administrator."""

    class Meta:
        """The custom user model."""

        model = get_user_model()
        fields = ("username",)
