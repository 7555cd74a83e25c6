"""A run goes on with what it started with; when something else is installed, a person says whether it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from runs import models
from runs.engine import clock, verifier
from runs.providers import registry as providers
from runs.tools import contract, registry
from runs.transitions import pins, refusals
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import EffectArguments, Lookup, World
from tests.rules.branching import redrive, through

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


class Longer(contract.Arguments):
    """The arguments of the next version: one gone, one needed, one checked differently."""

    name: str
    amount: int = 1
    channel: str = "post"


def other(tool: type[contract.Tool] = Lookup, **changes: Any) -> Any:
    """Let another version of a tool be installed."""
    return mock.patch.multiple(tool, **(changes or {"version": 2}))


def gone(name: str) -> Any:
    """Let a tool not be installed."""
    left = {key: tool for key, tool in registry._tools.items() if key != name}
    return mock.patch.dict(registry._tools, left, clear=True)


def differs(review: models.Review) -> str:
    return "\n".join(review.content["differs"])


def test_pins_a_run_notes_what_it_started_with(start: Start) -> None:
    """The contracts of its agent's tools, the provider and the plan's format, in its first line."""
    run = start(step("lookup", "mail"))
    assert run.pins is not None
    assert run.pins.content["tools"]["world.lookup"] == Lookup.contract()
    assert (run.pins.content["provider"], run.pins.content["plan"]) == ("playbook", 1)
    assert models.Entry.objects.get(run=run, position=1).content["pins"] == run.pins_id
    assert models.Contract.objects.get(pk=Lookup.contract()).content == Lookup.promise()
    assert start(step("look", "it")).pins == run.pins  # kept once
    verifier.verify()


def test_pins_another_version_of_a_tool_parks_the_run_and_says_what_differs(
    start: Start, reviewer: models.User
) -> None:
    """Approved, then deployed anew: nothing runs, the run waits with a question for its operator."""
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    changes: dict[str, Any] = {
        "version": 2, "Arguments": Longer, "identity": None, "decisive": ("name", "channel"), "tier": 3,
        "protection": contract.Protection.UNPROTECTED,
    }  # fmt: skip
    with other(**changes):
        run = go(run)
    review = only_review(run)
    assert (run.status, run.reason, World.effects()) == ("waiting", "pins", [])
    assert (review.kind, review.groups) == ("failure", ["operator"])
    said = differs(review)
    for sentence in (
        "world.lookup: its version was 1 and is 2 now.",
        "world.lookup: its protection against doing it twice was lookup and is unprotected now.",
        "world.lookup: its tier was 2 and is 3 now.",
        "world.lookup: its identity (what makes it the same action) was name and is not declared now.",
        "world.lookup: its decisive arguments was name and is name, channel now.",
        "world.lookup: the argument 'note' is gone.",
        "world.lookup: there is a new argument 'channel'.",
        "world.lookup: the argument 'amount' is checked differently",
    ):
        assert sentence in said
    assert "Traceback" not in said
    verifier.verify()


def test_pins_a_tool_or_provider_that_is_gone_parks_it_too(start: Start, reviewer: models.User) -> None:
    """One sentence each, never a stack trace."""
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    with gone("world.lookup"), mock.patch.dict(providers._PROVIDERS, clear=True):
        run = go(run)
        assert differs(only_review(run)).split("\n") == [
            "The provider playbook is no longer installed.", "The tool world.lookup is no longer installed.",
        ]  # fmt: skip
    assert (run.status, World.effects()) == ("waiting", [])


def test_pins_another_format_of_plans_parks_it(start: Start, reviewer: models.User) -> None:
    """The plan that it started with might be read differently."""
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    with mock.patch.object(pins, "PLAN_FORMAT", 2):
        run = go(run)
    assert "The plan is kept in format 1; this version of ckptsite works with format 2." in differs(
        only_review(run)
    )


def test_pins_stopping_ends_the_run(start: Start, reviewer: models.User, operator: models.User) -> None:
    """The other answer."""
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    with other():
        run = go(run)
        answer(only_review(run), operator, "stop", reason="Not any more.")
        run = go(run)
    assert (run.status, run.stop_reason, World.effects()) == ("cancelled", "Not any more.", [])
    verifier.verify()


def test_pins_only_these_answers_fit_and_only_here(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """Trying again is for failures, going on is for changes."""
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    with other():
        review = only_review(go(run))
        with pytest.raises(refusals.Invalid):
            answer(review, operator, "retry")
        with pytest.raises(refusals.NotYours):
            answer(review, reviewer, "go_on")
    World.absent = "no such address"
    failed = go(start(step("allowed", "x")))
    with pytest.raises(refusals.Invalid):
        answer(only_review(failed), operator, "go_on")


def test_pins_what_came_after_the_answer_is_asked_about_anew(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """A person agreed to version 2; by the time that the run is taken up it is version 3."""
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    with other():
        review = only_review(go(run))
        answer(review, operator, "go_on")
    with other(version=3):
        run = go(run)
        assert "is 3 now" in differs(only_review(run))
    assert (run.status, World.effects()) == ("waiting", [])
    verifier.verify()


def test_pins_the_same_again_goes_on_by_itself(start: Start, reviewer: models.User) -> None:
    """The deploy is taken back: the clock finds the run, the question is closed, the approval still counts."""
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    with other():
        review = only_review(go(run))
        assert pins.wake_restored() == 0
    clock.tidy()
    run = go(run)
    review.refresh_from_db()
    assert (run.status, review.status, len(World.effects("mail"))) == ("succeeded", "settled", 1)
    verifier.verify()


def test_pins_that_were_changed_afterwards_are_found(start: Start) -> None:
    """Another set on the run, another content of a set or a contract."""
    run = start(step("lookup", "mail"))
    assert run.pins is not None
    with mock.patch.object(Lookup, "version", 9):
        elsewhere = pins.now("playbook", ["world.lookup"])
    models.Run.objects.filter(pk=run.pk).update(pins=elsewhere)
    with pytest.raises(verifier.Broken, match="pinned"):
        verifier.verify()
    models.Run.objects.filter(pk=run.pk).update(pins=run.pins)
    verifier.verify()


def test_pins_a_doc_text_is_no_change(start: Start, reviewer: models.User) -> None:
    """A deploy that only describes an argument better strands nobody."""

    class Described(EffectArguments):
        """Quite another text."""

    Described.__name__ = "EffectArguments"
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    with other(Arguments=Described):
        assert go(run).status == "succeeded"


def test_pins_a_new_attempt_goes_by_what_is_installed_when_it_is_made(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """Re-driving is the way out too: its calls are checked anew, and nothing approved is taken over."""
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    with other():
        go(run)
        new = redrive(run, 1, operator)
        go(run)
        new = through(new, reviewer)
        assert new.pins is not None
        assert new.pins.content["tools"]["world.lookup"] == Lookup.contract()
    assert (new.status, len(World.effects("mail"))) == ("succeeded", 1)
    verifier.verify()


def test_pins_that_differ_in_no_part_that_is_named_are_asked_about_all_the_same(start: Start) -> None:
    """What is installed is another one, and nothing says how: a person reads that, and no worker fails over it."""
    run = go(start(step("lookup", "mail")))
    with other(), mock.patch.object(pins, "differing", return_value=()):
        models.Run.objects.filter(pk=run.pk).update(status="queued", reason="", wake_at=run.created_at)
        asked = [
            review.content["differs"]
            for review in models.Review.objects.filter(run=go(run), status="open", kind="failure")
        ]
    assert asked == [["what is installed has another digest, and no part of it says how it differs."]]
