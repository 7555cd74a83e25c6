"""The gate: what was approved is what runs, under today's policy, rights and world, or it doesn't run."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest
from django.db import connection

from runs import exact, models
from runs.engine import verifier
from runs.transitions import switches
from runs.transitions.actor import Actor
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import Costly, Lookup, World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]


def test_changed_arguments_never_run(start: Start, reviewer: models.User) -> None:
    """Somebody with the database in their hands changes the approved arguments: the run ends, nothing is sent."""
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE runs_entry DISABLE TRIGGER USER")
        cursor.execute(
            "UPDATE runs_entry SET content = replace(content, %s, %s) WHERE kind = 'reply'",
            ['"name":"mail"', '"name":"other"'],
        )
        cursor.execute("ALTER TABLE runs_entry ENABLE TRIGGER USER")
    run = go(run)
    assert (run.status, World.effects()) == ("failed", [])
    assert "read differently than they were approved" in run.error


def test_a_tool_that_promises_something_else_never_runs(start: Start, reviewer: models.User) -> None:
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    with mock.patch.object(Lookup, "version", 2):
        run = go(run)
    assert (run.status, run.reason, World.effects()) == ("waiting", "pins", [])
    assert "its version was 1 and is 2 now" in only_review(run).content["cause"]


def test_an_approval_is_used_once(start: Start, reviewer: models.User) -> None:
    run = go(start(step("lookup", "mail")))
    review = only_review(run)
    answer(review, reviewer, "approve")
    assert go(run).status == "succeeded"
    review.refresh_from_db()
    assert review.consumed_by == models.Action.objects.get(run=run)


def test_the_digest_shown_approved_and_sent_is_one(start: Start, reviewer: models.User) -> None:
    run = go(start(step("lookup", "mail")))
    review = only_review(run)
    decision = answer(review, reviewer, "approve")
    run = go(run)
    intent = models.Entry.objects.get(run=run, kind="intent")
    assert review.digest == decision.digest == intent.content["approval"]
    assert intent.content["digest"] == exact.digest_of(models.Action.objects.get(run=run).arguments())


def test_the_same_twice_in_one_reply_is_never_allowed_unread(start: Start) -> None:
    """Two rows with one identity: the second is asked about even where policy would allow it."""
    rows = {"id": "rows", "title": "Rows", "each": '["a", "a"]', "as": "row", "tool": "world.allowed"}
    run = go(start({**rows, "with": {"name": "${row}"}}))
    assert (run.status, len(World.effects("a"))) == ("waiting", 1)
    assert "already proposed" in only_review(run).content["why"]


def test_a_revoked_approver_stops_the_effect(start: Start, reviewer: models.User) -> None:
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    reviewer.groups.clear()
    run = go(run)
    assert (run.status, World.effects()) == ("waiting", [])
    assert "no longer has the right" in only_review(run).content["why"]
    verifier.verify()


def test_a_changed_world_is_asked_again(start: Start, person: Person) -> None:
    run = go(start(step("costly", "fee")))
    reviewer = person("rob", "reviewer")
    answer(only_review(run), reviewer, "approve")
    Costly.balance = 5
    run = go(run)
    assert (run.status, World.effects()) == ("waiting", [])
    again = only_review(run)
    assert "the world changed" in again.content["why"]
    answer(again, reviewer, "approve")
    assert go(run).status == "succeeded"
    verifier.verify()


def test_a_tightened_policy_stops_what_was_approved(
    start: Start, reviewer: models.User, person: Person
) -> None:
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    document = {"version": 1, "rules": [{"name": "Nothing leaves", "match": {}, "verdict": "deny"}]}
    switches.set_policy(document, reason="incident", by=Actor(user=person("ada", "admin")))
    run = go(run)
    assert World.effects() == []
    assert models.Action.objects.get(run=run).status in {"denied", "superseded"}
    verifier.verify()


def test_pause_all_stops_every_start(start: Start, reviewer: models.User, person: Person) -> None:
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    admin = Actor(user=person("ada", "admin"))
    switches.pause_all(True, by=admin, reason="Test.")
    run = go(run)
    assert (run.status, World.effects()) == ("queued", [])
    switches.pause_all(False, by=admin)
    assert go(run).status == "succeeded"


def test_an_outlived_approval_is_asked_again(start: Start, reviewer: models.User) -> None:
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    with clockwork.ahead(hours=25):
        run = go(run)
        assert (run.status, World.effects()) == ("waiting", [])
        assert "expired" in only_review(run).content["why"]
    verifier.verify()
