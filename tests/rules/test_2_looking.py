"""What isn't gated can't act: previews, preconditions and look-ups look by read-only means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from django.db import connection, transaction

from runs import models
from runs.engine import outside, verifier
from tests.engine import lock_order, locks
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import crash, released
from tests.engine.world import Costly, Lookup, Unprotected, World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def writes(*_: Any, **__: Any) -> None:
    """Leave something behind in the database, inside a transaction that would be rolled back or not."""
    with transaction.atomic():
        models.Blob.objects.create(sha256="0" * 64, size=1, content=b"x")


def test_2_14_a_preview_can_not_write(start: Start) -> None:
    """A preview that writes to the database is refused by the database; the question says that there is none."""
    with mock.patch.object(Unprotected, "preview", writes):
        run = go(start(step("unprotected", "mail")))
    assert run.status == "waiting"
    assert "read-only transaction" in only_review(run).content["notes"][0]
    assert not models.Blob.objects.exists()
    verifier.verify()


def test_2_14_a_precondition_and_a_look_up_can_not_write(
    start: Start, reviewer: models.User, person: Callable[..., models.User]
) -> None:
    """Asked right before acting, or about an unknown outcome: neither leaves anything behind."""
    run = go(start(step("costly", "fee")))
    answer(only_review(run), person("rob", "reviewer"), "approve")
    with mock.patch.object(Costly, "precondition", writes):
        run = go(run)
    assert (run.status, World.effects("fee")) == ("queued", [])
    assert "read-only transaction" in run.error
    run = released(start, reviewer, "lookup")
    crash(run)
    with mock.patch.object(Lookup, "lookup", writes):
        go(run)
    assert len(World.effects("mail")) == 1
    assert not models.Blob.objects.exists()


def test_2_14_no_tool_is_called_inside_a_transaction(start: Start) -> None:
    """Neither Django's transactions nor one that was opened beside it."""
    with transaction.atomic(), pytest.raises(outside.Holding):
        outside.free()
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        try:
            with pytest.raises(outside.Holding):
                outside.free()
        finally:
            cursor.execute("ROLLBACK")
    outside.free()


def test_2_14_no_tool_is_called_with_an_advisory_lock_held(transactional_db: None) -> None:
    """A lock of the session needs no transaction; the tests look for those too."""
    outside.free()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(1)")
        try:
            with pytest.raises(AssertionError, match="locks held"):
                locks.none_held()
            assert len(lock_order.taken()) == 1
        finally:
            cursor.execute("SELECT pg_advisory_unlock(1)")
