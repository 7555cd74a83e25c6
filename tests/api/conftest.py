"""People, tokens of theirs, and programs that use them."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from django.test import Client

from runs import models, rights
from runs.transitions import tokens
from runs.transitions.actor import Actor
from tests.engine.conftest import fresh_world
from tests.pages.conftest import empty_cache, house, who

__all__ = ["empty_cache", "fresh_world", "house", "who"]

_numbers = count(1)
MACHINE = tuple(sorted(map(str, rights.MACHINE_ACTS)))


def acts_of(user: models.User, kind: str = "person") -> list[str]:
    """Return everything that a token of this kind can be for, as far as the person may do it."""
    known = rights.TOKEN_ACTS if kind == "person" else rights.MACHINE_ACTS
    return sorted(str(act) for act in known if rights.may(user.roles(), act))


class Program:
    """A program with a token: it sends JSON and a new key each time, unless it is told which."""

    def __init__(self, token: models.ApiToken | None, secret: str) -> None:
        self.token, self.secret, self.client = token, secret, Client(enforce_csrf_checks=True)

    def get(self, path: str, **params: Any) -> Any:
        """Ask."""
        return self.client.get(f"/api/v1/{path}", params, headers=self.headers())

    def post(self, path: str, body: Any = None, *, key: str = "", **headers: str) -> Any:
        """Act."""
        sent = {"Idempotency-Key": key or f"key-{next(_numbers)}", **headers}
        content = body if isinstance(body, bytes | str) else json.dumps({} if body is None else body)
        return self.client.post(
            f"/api/v1/{path}", content, content_type="application/json", headers=self.headers() | sent
        )

    def headers(self) -> dict[str, str]:
        """Return what it shows at the door."""
        return {"Authorization": f"Bearer {self.secret}"} if self.secret else {}


Give = Callable[..., Program]


@pytest.fixture
def give(transactional_db: None) -> Give:
    """Make a token for somebody, with all that its kind can be for, and a program that uses it."""

    def make(user: models.User, *acts: str, kind: str = "person") -> Program:
        wanted = acts or acts_of(user, kind)
        form = f"form-{next(_numbers)}"
        token, secret = tokens.create(
            name="nightly", kind=kind, acts=wanted, days=30, form=form, by=Actor(user=user)
        )
        return Program(token, secret)

    return make
