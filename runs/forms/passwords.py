"""Checking a password without holding up the pages: one at a time, and with no database connection in hand."""

from __future__ import annotations

import threading
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.db import connection
from django.http import HttpRequest

from runs import models

_one_at_a_time = threading.BoundedSemaphore(1)


class Backend(ModelBackend):
    """Django's backend, but hashing takes a tenth of a second or more: many at once must not starve the pages."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **_: Any
    ) -> models.User | None:
        """Return the person with this name and password, or None; an unknown name takes as long as a wrong one."""
        if username is None or password is None:
            return None
        user = models.User.objects.filter(username=username).first()
        if not connection.in_atomic_block:
            connection.close()  # back to the pool while the hash is computed
        with _one_at_a_time:
            if user is None:
                models.User().set_password(password)
                return None
            right = user.check_password(password)
        return user if right and self.user_can_authenticate(user) else None
