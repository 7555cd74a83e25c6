"""Every address with everything wrong that a form or a link can carry: a sentence or a page, never a fault."""

from __future__ import annotations

import itertools

import pytest
from django.test import Client

from tests import factories
from tests.pages.test_roles import STREAM, address, routes

pytestmark = pytest.mark.django_db(transaction=True)

WRONG = (
    "'", "\x00", "(((", "a" * 3000, "-1", "9" * 30, "1-1-1", "\U0001f4a9", ":*&|!", "\\", "<script>", "1e9", "²",
    "tab=decided&q=%00", "{", "[1", "null",
)  # fmt: skip
NAMES = (
    "a", "acknowledged", "act", "after", "age", "agent", "arguments", "at", "b", "base", "before", "cause",
    "checkpoint", "done", "effect.1", "evidence", "find", "format", "from", "id", "ids", "input.x", "instructions",
    "item", "kind", "known", "name", "occurrence", "only", "outcome", "plan", "q", "query", "read", "reason",
    "revision", "seen", "status", "step", "steps", "tab", "tier", "to", "token", "tool", "until", "value", "verb",
    "verdict", "version", "view", "what",
)  # fmt: skip


def test_nothing_that_is_sent_is_a_fault(who: factories.People, house: factories.House) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(who.admin)
    wrong = itertools.cycle(WRONG)  # 17 kinds, 52 names: each name meets another kind each time
    faults = []
    for name in routes():
        if name in {STREAM, "logout"}:
            continue
        place = address(name, house)
        for method in (client.get, client.post):
            given = {field: next(wrong) for field in NAMES}
            answer = method(place, given)
            if answer.status_code >= (
                500 if name != "readyz" else 504
            ):  # without a clock it says 503, and rightly
                faults.append((name, method.__name__, given))
    assert faults == []
