"""The form with which an invited person chooses a password."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.forms import SetPasswordForm

from runs import models

if TYPE_CHECKING:
    Form = SetPasswordForm[models.User]
else:
    Form = SetPasswordForm


class Join(Form):
    """Django's own, by its rules for passwords; the transition saves it."""
