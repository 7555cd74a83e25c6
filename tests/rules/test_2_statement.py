"""One commit, one statement: each guard undoes the whole, and what is written is what the long way writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runs import models
from runs.engine import advance, carrying, frontier, verifier
from runs.transitions import holds, steps
from runs.transitions.actor import Actor
from runs.transitions.refusals import Changed, LostAuthority
from tests.engine.conftest import go, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]

FREE = {"id", "head", "key", "created_at", "closed_at", "settled_at", "first_sent_at", "horizon", "title"}
"""What differs between two runs that did the same: numbers of rows and moments."""


def claimed(run: models.Run) -> tuple[steps.Claim, frontier.Frontier]:
    claim = steps.claim(run.pk)
    assert claim is not None
    return claim, frontier.load(claim)


def rows(model: Any, **which: Any) -> list[dict[str, Any]]:
    """What the rows say, but for numbers and moments."""
    found = []
    for row in model.objects.filter(**which).order_by("pk"):
        named = {
            field.name: getattr(row, field.attname)
            for field in model._meta.concrete_fields
            if field.name not in FREE and not field.is_relation
        }
        found.append(named)
    return found


def told(run: models.Run) -> dict[str, Any]:
    """What a run has written, comparable to another one's."""
    moments = {"deadline", "horizon", "key"}
    return {
        "lines": [
            (
                line.position,
                line.kind,
                line.number,
                line.boundary,
                line.counters,
                {name: value for name, value in line.content.items() if name not in moments},
            )
            for line in models.Entry.objects.filter(run=run).order_by("position")
        ],
        "actions": rows(models.Action, run=run),
        "occurrences": rows(models.Occurrence, root=run),
        "steps": rows(models.PlanStep, run=run),
        "run": (run.status, run.position, run.checkpoint_number, run.steps, run.calls, run.reply_position),
    }


def the_long_way(patch: pytest.MonkeyPatch) -> None:
    """Let every step be written row by row, under the run row's lock."""

    def looked(front: frontier.Frontier, call: Any, *, last: bool, **given: Any) -> None:
        steps.read(front.claim, call, **given)

    patch.setattr(steps.plain, "replied", lambda work, record: False)
    patch.setattr(steps.plain, "started", lambda work, wish: None)
    patch.setattr(carrying, "looked", looked)


def test_2_1_the_statement_writes_what_the_long_way_writes(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same run both ways leaves the same lines, checkpoints, actions, occurrences, steps and counters."""
    work = (step("look"), step("allowed", "one", id="a"), step("allowed", "two", id="b"))
    points: list[str] = []
    monkeypatch.setattr("runs.points.reach", points.append)
    plain = go(start(*work))
    assert "happened_reply_intent.after_commit" in points
    points.clear()
    with monkeypatch.context() as patch:
        the_long_way(patch)
        long = go(start(*work))
    assert not any("_intent" in name for name in points)
    assert plain.status == long.status == "succeeded"
    assert told(plain) == told(long)
    assert sorted(line["name"] for line in World.effects()) == ["one", "one", "two", "two"]
    verifier.verify()


def test_2_1_a_part_that_finds_no_row_undoes_all_the_others(start: Start) -> None:
    """A late guard that fails leaves nothing of the early ones: not even the run's position has moved."""
    run = start(step("look"))
    claim, front = claimed(run)
    work = carrying.begin(front)
    work.log.append("note", {"code": "wake"})
    work.save(models.Action(pk=2**40, attempt=1), "attempt")  # there is no such action
    with pytest.raises(Changed, match="found 0 rows where it needs 1"):
        work.commit("reply")
    before = models.Run.objects.get(pk=run.pk)
    assert (before.position, before.head) == (run.position, run.head)
    assert models.Entry.objects.filter(run=run).count() == 1
    assert models.Run.objects.get(pk=run.pk).fence == claim.fence


def test_2_1_another_fence_or_a_moved_inbox_leave_nothing(start: Start, operator: models.User) -> None:
    """Every part hangs on the run row, which names the fence, and where something starts also the inbox number."""
    run = start(step("look"))
    _, front = claimed(run)
    stale = carrying.begin(front)
    stale.log.append("note", {"code": "wake"})
    holds.stop(run.pk, reason="enough", by=Actor(user=operator))
    with pytest.raises(Changed):
        stale.commit("intent", seen=front.situation.inbox)
    models.Run.objects.filter(pk=run.pk).update(fence=front.claim.fence + 1)
    lost = carrying.begin(front)
    with pytest.raises(LostAuthority):
        lost.commit("reply")
    assert models.Entry.objects.filter(run=run).count() == 1


def test_2_4_a_stop_while_the_model_answers_keeps_the_reply_and_starts_nothing(
    start: Start, operator: models.User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The paid reply is stored; the intent that would have gone with it is not."""
    run = start(step("allowed", "mail"))
    left = iter([True])

    def reach(name: str) -> None:
        if (
            name == "model.after_call"
            and models.PlanStep.objects.filter(run=run).exists()
            and next(left, False)
        ):
            holds.stop(run.pk, reason="enough", by=Actor(user=operator))

    monkeypatch.setattr("runs.points.reach", reach)
    advance.advance(run.pk)
    run.refresh_from_db()
    assert (run.status, World.effects()) == ("cancelled", [])
    replies = models.Entry.objects.filter(run=run, kind="reply").order_by("position")
    assert replies.last().content["calls"][0]["tool"] == "world.allowed"  # type: ignore[union-attr]
    assert not models.Entry.objects.filter(run=run, kind="intent").exists()
    verifier.verify()


def test_2_3_a_crash_between_reply_and_question_is_prepared_again(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Previews ask the world, so questions open in a commit of their own, and a crash before it loses none."""

    class Died(BaseException):
        pass

    def reach(name: str) -> None:
        if name == "prepare.before":
            raise Died

    run = start(step("lookup", "mail"))
    with monkeypatch.context() as patch:
        patch.setattr("runs.points.reach", reach)
        with pytest.raises(Died):
            advance.advance(run.pk)
    assert models.Action.objects.get(run=run).status == "proposed"
    assert not models.Review.objects.filter(run=run).exists()
    models.Run.objects.filter(pk=run.pk).update(lease_until=run.created_at)
    assert go(run).status == "waiting"
    assert models.Review.objects.get(run=run, status="open").action.status == "held"  # type: ignore[union-attr]
    verifier.verify()
