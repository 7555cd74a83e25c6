"""Budgets over attempts: a re-drive takes nothing back from its lineage's account."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.engine import verifier
from runs.selectors import run_limits
from runs.transitions import branches, log, steps
from runs.transitions.actor import Actor
from tests.engine.conftest import go
from tests.rules.branching import redrive
from tests.rules.spending import account, asked, balance, looks, raise_by

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_8_4_limits_hold_for_the_lineage_and_its_account_only_grows(
    start: Start, operator: models.User
) -> None:
    """The new attempt starts with what its path had used; what the old one burnt besides is gone all the same."""
    run = go(start(*looks(3), budget={"steps": 6}))
    assert (run.status, run.steps) == ("succeeded", 5)
    new = redrive(run, 2, operator)
    assert (new.steps, balance(run, "steps")) == (1, (5, 0))
    new = go(new)
    assert (new.status, new.steps) == ("waiting", 2)
    assert balance(new, "steps") == (6, 0)
    assert asked(new).content["scope"] == "lineage"
    (line,) = run_limits.lines(new)
    assert line.sentence == (
        "Used up: This run and the attempts before it have used 6 turns of 6 turns (100 %); 0 turns left."
    )
    raise_by(new, operator, 10)
    new = go(new)
    assert (new.status, new.steps) == ("succeeded", 5)
    assert balance(new, "steps") == (9, 0)
    assert models.Account.objects.filter(measure="steps").count() == 1
    verifier.verify()


def test_8_4_what_stands_on_the_path_is_in_each_checkpoint(start: Start, operator: models.User) -> None:
    """A checkpoint carries what its path has used, so that both can be shown before one goes on from it."""
    run = go(start(*looks(2), budget={"steps": 50}))
    new = go(redrive(run, 2, operator))
    used = [
        log.counted(line.counters)["steps"]
        for line in models.Checkpoint.objects.filter(run=new).order_by("number")
    ]
    assert used == [1, 2, 3, 4]
    assert account(new, "steps").spent == 4 + 3


def test_8_4_separate_work_has_an_account_of_its_own(start: Start, operator: models.User) -> None:
    """A new lineage begins with its whole budget; what was used on the way to its checkpoint isn't counted again."""
    run = go(start(*looks(3), budget={"steps": 6}))
    new = branches.separate(
        run.pk, checkpoint=2, reason="something else", acknowledged=branches.earlier_effects(run.pk).digest,
        token="apart", by=Actor(user=operator),
    )  # fmt: skip
    new = go(new)
    assert (new.status, new.steps) == ("succeeded", 5)
    assert balance(new, "steps") == (4, 0)
    assert balance(run, "steps") == (5, 0)
    verifier.verify()


def test_8_4_a_dry_run_uses_its_lineage_s_account_too(start: Start, operator: models.User) -> None:
    """Trying it out is paid for like everything else, also while the other attempt goes on."""
    run = start(*looks(3), budget={"steps": 7})
    claim = steps.claim(run.pk)
    assert claim is not None
    steps.later(claim, reason="slice")
    fork = branches.fork(run.pk, checkpoint=1, reason="try", token="fork", by=Actor(user=operator))
    assert go(run).status == "succeeded"
    fork = go(fork)
    assert (fork.mode, fork.status, fork.steps) == ("dry_run", "waiting", 2)
    assert balance(run, "steps") == (7, 0)
    verifier.verify()
