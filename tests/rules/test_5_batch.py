"""Many questions decided in one go: what is refused for one, as it would be alone, holds up none of the others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from runs import models
from runs.engine import verifier
from runs.transitions import batches, refusals, switches
from runs.transitions.actor import Actor
from runs.transitions.answers import Answer
from tests.engine.conftest import answer, go, step
from tests.engine.world import World
from tests.rules.test_4_order import rows

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]
_forms = itertools.count()


def asked(*runs: models.Run) -> list[models.Review]:
    """What the runs ask."""
    return list(models.Review.objects.filter(run__in=runs, status="open").order_by("pk"))


def given(reviews: Iterable[models.Review], verdict: str = "approve", **more: Any) -> dict[int, Answer]:
    """One form with the same answer to each of these, as they are seen now."""
    form = next(_forms)
    return {
        row.pk: Answer(
            **{
                "verdict": verdict, "revision": row.revision, "digest": row.digest, "token": f"batch-{form}-{row.pk}",
                "reason": "read each of them",
            }
            | more
        )
        for row in reviews
    }  # fmt: skip


def refused(outcomes: list[batches.Outcome]) -> list[str]:
    """Why each item was refused; empty where it was decided."""
    return [item.refusal.message if item.refusal else "" for item in outcomes]


def test_5_4_one_that_is_stale_holds_up_none_of_the_others(
    start: Start, reviewer: models.User, person: Person
) -> None:
    """Two runs, four questions, somebody else was faster at one: three are done, and each of the four is told of."""
    first, second = go(start(rows("lookup", "a", "b", "c"))), go(start(step("lookup", "d")))
    reviews = asked(first, second)
    form = given(reviews)
    answer(reviews[1], person("nora", "reviewer"), "reject", reason="Wrong customer.")
    outcomes = batches.decide_many(form, by=Actor(user=reviewer))
    assert [item.review_id for item in outcomes] == [row.pk for row in reviews]
    assert refused(outcomes) == ["", "nora rejected this first; nothing you typed was used.", "", ""]
    for run in (first, second):
        assert go(run).status == "succeeded"
    assert [line["name"] for line in World.effects()] == ["a", "c", "d"]
    acts = models.AuditEvent.objects.filter(act="review.approve", actor=reviewer)
    assert acts.count() == models.Decision.objects.filter(person=reviewer).count() == 3
    verifier.verify()


def test_5_4_each_item_has_its_own_revision_and_right(
    start: Start, reviewer: models.User, person: Person
) -> None:
    """Another digest than is asked about, a vote too few, another group, a tier that is decided alone: as for one."""
    strict = {
        "version": 1,
        "rules": [
            {"name": "Two people", "match": {"tool": "world.lookup"}, "verdict": "review", "quorum": 2},
            {"name": "Apart", "match": {"tool": "world.idempotent"}, "verdict": "review", "separation": True},
        ],
    }  # fmt: skip
    switches.set_policy(strict, reason="for a test", by=Actor(user=person("ada", "admin")))
    both = person("otto", "operator", "reviewer")
    runs = [go(start(step(tool, tool))) for tool in ("lookup", "idempotent", "costly", "unprotected")]
    models.Run.objects.update(created_by=both)
    reviews = asked(*runs)
    form = given(reviews)
    form[reviews[3].pk] = Answer(
        verdict="approve", revision=1, digest="0" * 64, token="another", reason="read"
    )
    outcomes = batches.decide_many(form, by=Actor(user=both))
    assert refused(outcomes) == [
        "",
        "You started this run, so somebody else has to release this action.",
        "What can't be undone is decided by itself.",
        "This has changed since you opened it; look at it again before you decide.",
    ]
    reviews[0].refresh_from_db()
    assert (reviews[0].status, reviews[0].votes) == ("open", 1)
    nobody = batches.decide_many(given(asked(runs[0])), by=Actor(user=person("vera", "viewer")))
    assert refused(nobody) == ["You may not decide this; reviewer can."]
    batches.decide_many(given(asked(runs[0])), by=Actor(user=reviewer))
    assert go(runs[0]).status == "succeeded"


def test_5_4_all_or_nothing_only_for_the_calls_of_one_reply(start: Start, reviewer: models.User) -> None:
    """Where the form says so: one that is stale leaves the others open. Other replies are no such batch."""
    run, other = go(start(rows("lookup", "a", "b"))), go(start(step("lookup", "c")))
    first, second = asked(run)
    with pytest.raises(refusals.Invalid, match="proposed together"):
        batches.decide_many(given(asked(run, other)), by=Actor(user=reviewer), whole=True)
    form = given([first, second])
    form[second.pk] = Answer(verdict="approve", revision=2, digest=second.digest, token="old", reason="read")
    outcomes = batches.decide_many(form, by=Actor(user=reviewer), whole=True)
    assert refused(outcomes) == [
        "Nothing was decided, because one of these could not be.",
        "This has changed since you opened it; look at it again before you decide.",
    ]
    assert not models.Decision.objects.exists()
    assert refused(batches.decide_many(given([first, second]), by=Actor(user=reviewer), whole=True)) == [
        "",
        "",
    ]
    assert go(run).status == "succeeded"
    assert len(World.effects()) == 2
    verifier.verify()


def test_5_4_the_same_form_twice_decides_once(start: Start, reviewer: models.User) -> None:
    run = go(start(rows("lookup", "a", "b")))
    form = given(asked(run), "reject")
    once = batches.decide_many(form, by=Actor(user=reviewer))
    again = batches.decide_many(form, by=Actor(user=reviewer))
    assert [item.decision for item in once] == [item.decision for item in again]
    assert models.Decision.objects.count() == 2


def test_5_4_the_worst_tier_says_how_many_at_once(start: Start, reviewer: models.User) -> None:
    run = go(start(rows("lookup", *"abcdef")))
    with pytest.raises(refusals.Invalid, match="At most 5"):
        batches.decide_many(given(asked(run)), by=Actor(user=reviewer))
    assert refused(batches.decide_many(given(asked(run), "reject"), by=Actor(user=reviewer))) == [""] * 6
