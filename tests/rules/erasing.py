"""Work of every kind that has ended, and the clocks by which it is erased, for the rules about that."""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from runs import models
from runs.engine import verifier
from runs.transitions import branches
from runs.transitions.actor import Actor
from tests.engine.conftest import go, step
from tests.rules.branching import redrive, through
from tests.rules.handing import agent, back, child_of, hands

Start = Callable[..., models.Run]


@pytest.fixture
def keep(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Keep each part for so many days."""

    def put(payloads: int = 0, timeline: int = 0, receipts: int = 0) -> None:
        for part, days in (("PAYLOADS", payloads), ("TIMELINE", timeline), ("RECEIPTS", receipts)):
            monkeypatch.setitem(settings.CKPTSITE, f"KEEP_{part}", days)

    return put


@pytest.fixture
def past(start: Start, begin: Start, reviewer: models.User, operator: models.User) -> dict[str, models.Run]:
    """Runs that ended in every way, and what goes on from them."""
    paid = through(
        start(step("look", "it"), step("lookup", "pay"), step("costly", "fee", id="fee")), reviewer
    )
    refused = through(start(step("unprotected", "a"), step("idempotent", "b")), reviewer, "reject")
    old = go(start(step("allowed", "c"), step("look", "d")))
    new = go(redrive(old, 1, operator))
    other = through(start(step("lookup", "e")), reviewer)
    earlier = branches.earlier_effects(other.pk)
    separate = branches.separate(
        other.pk, checkpoint=1, reason="Again.", acknowledged=earlier.digest, by=Actor(user=operator), token="apart"
    )  # fmt: skip
    separate = through(separate, reviewer, "reject")
    parent = go(begin(hands(agent(step("allowed", "f"), result="sent"))))
    child = go(child_of(parent))
    parent = back(parent)
    runs = {
        "paid": paid, "refused": refused, "old": old, "new": new, "other": other, "separate": separate,
        "parent": parent, "child": child,
    }  # fmt: skip
    assert {run.status for run in runs.values()} == {"succeeded"}
    verifier.verify()
    return runs


def aged(days: int, *runs: models.Run) -> None:
    """Let the runs have ended so many days ago."""
    models.Run.objects.filter(pk__in=[run.pk for run in runs]).update(
        ended_at=timezone.now() - datetime.timedelta(days=days)
    )


def prune(*words: str) -> dict[str, Any]:
    """Return what the command says."""
    said = io.StringIO()
    call_command("prune", "--json", *words, stdout=said)
    found: dict[str, Any] = json.loads(said.getvalue())
    return found


def parts(run: models.Run) -> set[str]:
    """Return what the run's tombstones say was erased."""
    return set(models.Tombstone.objects.filter(run=run).values_list("part", flat=True))


def lines(run: models.Run) -> int:
    return models.Entry.objects.filter(run=run).count()


def found() -> str:
    """Return what the verifier finds, or nothing."""
    try:
        verifier.verify()
    except verifier.Broken as error:
        return str(error)
    return ""
