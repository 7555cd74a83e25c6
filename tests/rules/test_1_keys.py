"""Keys: computed once, kept for a window, renewed only when the provider says so, and never forgotten."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from unittest import mock

import pytest
from django.utils import timezone

from runs import models
from runs.engine import preparing, verifier
from runs.tools import contract
from runs.transitions import absent
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review
from tests.engine.test_unknown import crash, released
from tests.engine.world import EffectArguments, Lookup, World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_1_12_a_retry_keeps_its_key(start: Start, reviewer: models.User) -> None:
    """A send that provably failed is repeated under the same key."""
    run = released(start, reviewer, "idempotent")
    World.absent = "again: connection refused"
    go(run)
    World.absent = ""
    with clockwork.ahead(hours=0.1):
        run = go(run)
    assert run.status == "succeeded", run.error
    assert len(_keys(run)) == 1
    verifier.verify()


def test_1_12_a_stored_failure_gets_another_key(start: Start, reviewer: models.User) -> None:
    """Where the provider keeps the failure under the key, the next send has a new one; this is audited."""
    run = released(start, reviewer, "idempotent")
    World.absent = "again: the provider keeps this failure under its key"
    go(run)
    World.absent = ""
    with clockwork.ahead(hours=0.1):
        run = go(run)
    assert run.status == "succeeded", run.error
    occurrence = models.Occurrence.objects.get(root=run)
    assert _keys(run) == occurrence.all_keys()
    assert len(set(occurrence.all_keys())) == 2
    assert models.AuditEvent.objects.get(act="occurrence.new_key").content == {"epoch": 1}
    verifier.verify()


def test_1_12_a_look_up_gets_every_key(start: Start, reviewer: models.User) -> None:
    """The world is asked for the effect under each key that was ever used."""
    asked: list[list[str]] = []

    def lookup(tool: object, args: EffectArguments, keys: Sequence[str], ctx: contract.Context) -> None:
        asked.append(list(keys))

    run = released(start, reviewer, "lookup")
    World.absent = "again: the provider keeps this failure under its key"
    go(run)
    World.absent = ""
    with clockwork.ahead(hours=0.1), mock.patch.object(Lookup, "lookup", lookup):
        crash(run)
        go(run)
    assert asked == [models.Occurrence.objects.get(root=run).all_keys()]
    assert len(asked[0]) == 2


def test_1_12_the_window_runs_from_the_first_send(start: Start, reviewer: models.User) -> None:
    """Nine tenths of the key's window after the first send, nothing is sent under it again."""
    run = released(start, reviewer, "idempotent")
    crash(run, before=True)
    models.Review.objects.update(expires_at=timezone.now() + datetime.timedelta(days=9))
    first = timezone.now() - datetime.timedelta(hours=21.7)
    models.Occurrence.objects.update(first_sent_at=first)
    run = go(run)
    assert (run.status, World.effects()) == ("waiting", [])
    assert only_review(run).kind == "in_doubt"


def test_1_12_the_gate_holds_the_window_too(start: Start, reviewer: models.User) -> None:
    """A worker that read the clock before the window ended is refused at the intent."""
    run = released(start, reviewer, "idempotent")
    crash(run, before=True)

    def over() -> None:
        models.Occurrence.objects.update(first_sent_at=timezone.now() - datetime.timedelta(hours=21.7))

    with mock.patch("runs.engine.acting.preparing.tool_of", _after(over)):
        run = go(run)
    assert (run.status, World.effects()) == ("waiting", [])
    assert "time in which its key is known" in only_review(run).content["why"]
    verifier.verify()


def test_2_10_a_proof_about_one_send_says_nothing_of_another(start: Start, reviewer: models.User) -> None:
    """The first send is unknown and the second refused: the action isn't failed, somebody is asked."""
    run = released(start, reviewer, "idempotent")
    crash(run)
    World.absent = "422: this key was used with another payload"
    run = go(run)
    World.absent = ""
    assert models.Action.objects.get(run=run).status == "in_doubt"
    assert only_review(run).kind == "in_doubt"
    assert len(World.effects("mail")) == 1
    verifier.verify()


def test_2_10_a_person_speaks_of_what_was_sent_before(start: Start, reviewer: models.User) -> None:
    """'It did not happen' about the first send is no proof about the second, which came after it."""
    run = released(start, reviewer, "unprotected")
    crash(run, before=True)
    run = go(run)
    tomorrow = timezone.now() + datetime.timedelta(days=1)
    answer(only_review(run), reviewer, "absent_do", rendered_at=tomorrow)
    run = go(run)
    answer(only_review(run), reviewer, "approve")
    crash(run)
    assert absent.attempts(models.Action.objects.get(run=run)) == {1}
    run = go(run)
    assert only_review(run).kind == "in_doubt"
    assert len(World.effects("mail")) == 1


def _keys(run: models.Run) -> list[str]:
    lines = models.Entry.objects.filter(run=run, kind="intent").order_by("position")
    return list(dict.fromkeys(line.content["key"] for line in lines))


def _after(act: Callable[[], None]) -> Callable[[models.Action], object]:
    """Return what finds an action's tool, with something that happens right before it."""
    real = preparing.tool_of

    def reading(action: models.Action) -> object:
        act()
        return real(action)

    return reading
