"""The whole path: start, stop before the effect, decide, do it once, end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.engine import verifier
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_approved_runs_once_and_the_run_ends(start: Start, reviewer: models.User) -> None:
    run = go(start(step("look", "it"), step("lookup", "mail")))
    assert (run.status, run.reason) == ("waiting", "review")
    assert World.effects() == []
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    assert run.status == "succeeded", run.error
    assert [line["name"] for line in World.effects()] == ["mail"]
    verifier.verify()


def test_rejected_sends_nothing_and_says_so(start: Start, reviewer: models.User) -> None:
    run = go(start(step("unprotected", "mail")))
    answer(only_review(run), reviewer, "reject", reason="wrong customer")
    run = go(run)
    assert run.status == "succeeded"
    assert World.effects() == []
    closing = models.Entry.objects.filter(run=run, kind="result").order_by("position")
    assert any("rita rejected it. Reason: wrong customer" in line.content["text"] for line in closing)
    verifier.verify()


def test_allowed_effects_need_nobody(start: Start) -> None:
    run = go(start(step("allowed", "draft")))
    assert run.status == "succeeded"
    assert len(World.effects("draft")) == 1
    verifier.verify()
