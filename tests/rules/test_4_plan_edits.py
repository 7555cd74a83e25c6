"""A person changes the plan: only at rest, only what is ahead, and before anything else is started."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from runs import models
from runs.engine import verifier
from runs.transitions import holds, plan_edits, refusals, steps
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]


def plan(run: models.Run) -> list[dict[str, Any]]:
    """Return the current plan as a person gets it to edit."""
    rows = models.PlanStep.objects.filter(run=run).order_by("order")
    return [{"id": row.key, "title": row.title, "body": dict(row.body)} for row in rows]


def save(run: models.Run, wanted: object, by: models.User, **more: Any) -> models.Plan:
    run.refresh_from_db()
    given: dict[str, Any] = {"base": run.plan_version, "reason": "It was wrong."} | more
    return plan_edits.save(run.pk, plan_edits.Edit(steps=wanted, **given), by=Actor(user=by))


def named(wanted: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(item for item in wanted if item["id"] == name)


def done() -> list[str]:
    return [line["name"] for line in World.effects()]


def test_4_10_a_changed_step_overtakes_what_was_approved_before_anything_starts(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """Approved, paused before the intent, then the arguments are edited: the old ones never run."""
    run = go(start(step("lookup", "wrong"), step("allowed", "after")))
    holds.pause(run.pk, reason="", by=Actor(user=operator))
    old = only_review(run)
    answer(old, reviewer, "approve")
    wanted = plan(run)
    named(wanted, "lookup")["body"]["with"] = {"name": "right"}
    version = save(run, wanted, operator)
    assert (version.version, version.author, version.reason) == (2, operator, "It was wrong.")
    checkpoint = models.Checkpoint.objects.filter(run=run).latest("number")
    assert (checkpoint.boundary, checkpoint.kind) == ("edited", "plan")
    holds.resume(run.pk, by=Actor(user=operator))
    run = go(run)
    old.refresh_from_db()
    assert old.status == "superseded"
    assert models.Action.objects.filter(run=run, status="superseded").count() == 1
    again = only_review(run)
    assert again.action is not None
    assert again.action.arguments()["name"] == "right"
    verifier.verify()
    answer(again, reviewer, "approve")
    assert go(run).status == "succeeded"
    assert done() == ["right", "after"]
    verifier.verify()


@pytest.mark.parametrize("change", ["title", "lock", "later"])
def test_4_10_what_changes_nothing_that_was_asked_about_leaves_the_question_open(
    start: Start, operator: models.User, change: str
) -> None:
    """A title, a lock, or a step behind it."""
    run = go(start(step("lookup", "mail"), step("allowed", "after")))
    wanted = plan(run)
    if change == "title":
        named(wanted, "lookup")["title"] = "Better words"
    elif change == "lock":
        named(wanted, "lookup")["body"]["lock"] = True
    else:
        named(wanted, "allowed")["body"]["with"] = {"name": "other"}
    save(run, wanted, operator)
    review = only_review(run)
    assert (go(run).status, only_review(run)) == ("waiting", review)
    verifier.verify()


@pytest.mark.parametrize("change", ["tool", "gate", "before", "removed"])
def test_4_10_tool_gate_and_what_comes_before_overtake_too(
    start: Start, operator: models.User, change: str
) -> None:
    """An irreversible step that was asked about rests on what is done before it."""
    run = go(start(step("lookup", "mail"), step("look", "after")))
    wanted = plan(run)
    review = only_review(run)
    if change == "tool":
        named(wanted, "lookup")["body"]["tool"] = "world.unprotected"
    elif change == "gate":
        named(wanted, "lookup")["body"]["gate"] = True
    elif change == "before":
        wanted.insert(0, wanted.pop(1))
    else:
        wanted = [item for item in wanted if item["id"] != "lookup"]
    save(run, wanted, operator)
    run = go(run)
    review.refresh_from_db()
    assert review.status == "superseded"
    assert run.status == ("succeeded" if change == "removed" else "waiting")
    verifier.verify()


def test_4_10_what_has_started_is_locked(start: Start, reviewer: models.User, operator: models.User) -> None:
    """Steps with an intent or later can be neither changed, moved nor taken out."""
    run = go(start(step("allowed", "first"), step("look", "second"), step("lookup", "mail")))
    for spoil in (
        lambda wanted: named(wanted, "allowed")["body"].update({"with": {"name": "other"}}),
        lambda wanted: named(wanted, "allowed").update(title="Never was"),
        lambda wanted: wanted.pop(0),
        lambda wanted: wanted.insert(0, wanted.pop(1)),
    ):
        wanted = plan(run)
        spoil(wanted)
        with pytest.raises(refusals.Invalid, match=r"started or (is|are) over"):
            save(run, wanted, operator)
    run.refresh_from_db()
    assert run.plan_version == 1


def test_4_10_a_doubtful_step_is_locked(start: Start, reviewer: models.User, operator: models.User) -> None:
    """Its effect may stand in the world, so its step stays as it is."""

    def lost() -> None:
        raise ConnectionError("no answer")

    run = go(start(step("unprotected", "parcel"), step("look", "after")))
    answer(only_review(run), reviewer, "approve")
    World.after = lost
    run = go(run)
    assert only_review(run).kind == "in_doubt"
    wanted = plan(run)
    named(wanted, "unprotected")["body"]["with"] = {"name": "other"}
    with pytest.raises(refusals.Invalid, match="has started"):
        save(run, wanted, operator)
    wanted = [item for item in plan(run) if item["id"] != "look"]  # what is ahead can be changed
    save(run, wanted, operator)
    verifier.verify()


def test_4_10_only_at_rest_and_only_the_version_that_was_seen(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """Claimed again meanwhile, or edited by somebody else: 409, and the plan is as it was."""
    run = go(start(step("lookup", "mail")))
    wanted = plan(run)
    with pytest.raises(refusals.Stale, match="version 1 by now; you changed version 7"):
        save(run, wanted, operator, base=7)
    answer(only_review(run), reviewer, "approve")
    with pytest.raises(refusals.Stale, match="goes on"):  # queued
        save(run, wanted, operator)
    assert steps.claim(run.pk) is not None
    with pytest.raises(refusals.Stale, match="goes on"):  # leased
        save(run, wanted, operator)
    assert models.Plan.objects.filter(run=run).count() == 1


def test_4_10_two_editors_at_once_have_one_winner(start: Start, person: Person) -> None:
    """The same base version, two plans: one is saved, the other is told."""
    run = go(start(step("lookup", "mail"), step("look", "after")))
    wanted = plan(run)
    people = [person(f"p{number}", "operator") for number in range(4)]
    outcomes: list[str] = []

    def edit(number: int) -> None:
        mine = [dict(item) for item in wanted]
        mine[1] = {**mine[1], "title": f"By {number}"}
        try:
            plan_edits.save(
                run.pk, plan_edits.Edit(base=1, steps=mine, reason="Mine."), by=Actor(user=people[number])
            )
            outcomes.append("saved")
        except refusals.Stale:
            outcomes.append("stale")
        finally:
            connection.close()

    threads = [threading.Thread(target=edit, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["saved", "stale", "stale", "stale"]
    assert models.Plan.objects.filter(run=run).count() == 2
    verifier.verify()


def test_4_10_a_worker_that_held_the_run_before_writes_nothing_beside_the_edit(
    start: Start, operator: models.User
) -> None:
    """The edit raises the fence: a claim from before it is worth nothing."""
    run = go(start(step("lookup", "mail")))
    run.refresh_from_db()
    old = steps.Claim(run_id=run.pk, fence=run.fence)
    wanted = plan(run)
    wanted[0]["title"] = "Other"
    save(run, wanted, operator)
    with pytest.raises(refusals.LostAuthority):
        steps.later(old, reason="slice")


def test_4_10_the_same_form_twice_is_one_version(start: Start, operator: models.User) -> None:
    """A double click gets the version that it made."""
    run = go(start(step("lookup", "mail")))
    wanted = plan(run)
    wanted[0]["title"] = "Other"
    first = save(run, wanted, operator)
    assert save(run, wanted, operator, base=1) == first


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({}, "A plan is a list of steps."),
        ([{"title": "x", "body": {}}], "Step 1 needs an id."),
        ([{"id": "a", "title": "x"}], "Step 'a' needs a title and a body."),
        ([{"id": "a", "title": "x", "body": {}}], "either a 'tool' or a 'finish'"),
        ([{"id": "a", "title": "x", "body": {"tool": "world.nothing"}}], "no tool 'world.nothing'"),
        (
            [{"id": "a", "title": "x", "body": {"tool": "world.look", "with": {"name": "${nobody}"}}}],
            "'nobody'",
        ),
        (
            [{"id": "a", "title": "x", "body": {"tool": "world.look", "gate": True}}],
            "changes nothing outside",
        ),
        ([{"id": "a", "title": "x", "body": {"tool": "world.allowed", "group": "g", "with": {}}}], "name"),
        ([{"id": "a", "title": "x", "body": {"tool": "world.look"}}] * 2, "stands twice"),
    ],
)
def test_4_10_bad_plans_are_refused_in_one_sentence(
    start: Start, operator: models.User, wanted: object, sentence: str
) -> None:
    """Nothing that the agent couldn't carry out is saved."""
    run = go(start(step("lookup", "mail")))
    with pytest.raises(refusals.Invalid) as refused:
        save(run, wanted, operator)
    assert sentence in refused.value.message
    assert "\n" not in refused.value.message


def test_4_10_who_may_and_why(start: Start, reviewer: models.User, operator: models.User) -> None:
    """Operators change plans, and say why."""
    run = go(start(step("lookup", "mail")))
    with pytest.raises(refusals.NotYours):
        save(run, plan(run), reviewer)
    with pytest.raises(refusals.Invalid, match="Say why"):
        save(run, plan(run), operator, reason=" \u200b")


def test_4_10_an_edit_that_was_changed_afterwards_is_found(start: Start, operator: models.User) -> None:
    """Who edited the plan stands in log, version and audit; the log line is anchored there."""
    run = go(start(step("lookup", "mail")))
    wanted = plan(run)
    wanted[0]["title"] = "Other"
    save(run, wanted, operator)
    verifier.verify()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE runs_plan DISABLE TRIGGER USER")
        cursor.execute("UPDATE runs_plan SET author_id = NULL WHERE version = 2")
        cursor.execute("ALTER TABLE runs_plan ENABLE TRIGGER USER")
    with pytest.raises(verifier.Broken, match="plan versions"):
        verifier.verify()
