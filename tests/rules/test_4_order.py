"""Calls of one reply: independent of each other, or one after the other where the agent wants it so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runs import models, planner
from runs.engine import verifier
from tests.core.test_planner import call, finish, move, read
from tests.engine.conftest import answer, go, only_review
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def rows(tool: str, *names: str) -> dict[str, Any]:
    """Return a loop whose rows are calls of one reply."""
    return {
        "id": "rows", "title": "Rows", "each": str(list(names)).replace("'", '"'), "as": "row", "tool": f"world.{tool}",
        "with": {"name": "${row}"}, "required": False,
    }  # fmt: skip


def done() -> list[str]:
    return [line["name"] for line in World.effects()]


def test_4_3_a_sibling_that_waits_or_was_refused_holds_up_none_of_the_others(
    start: Start, reviewer: models.User
) -> None:
    """Three calls: the last is approved and done first; the provider is asked again once all are closed."""
    run = go(start(rows("lookup", "a", "b", "c")))
    first, second, third = models.Review.objects.filter(run=run).order_by("id")
    answer(third, reviewer, "approve")
    run = go(run)
    assert (run.status, done()) == ("waiting", ["c"])
    answer(first, reviewer, "reject")
    run = go(run)
    replies = models.Entry.objects.filter(run=run, kind="reply").count()
    answer(second, reviewer, "approve")
    assert go(run).status == "succeeded"
    assert done() == ["c", "b"]
    assert models.Entry.objects.filter(run=run, kind="reply").count() == replies + 1
    verifier.verify()


def test_4_3_an_ordered_agent_asks_and_acts_one_after_the_other(start: Start, reviewer: models.User) -> None:
    """The second question opens when the first call is closed, be it done or refused."""
    run = go(start(rows("lookup", "a", "b", "c"), ordered=True))
    for verdict in ("reject", "approve", "approve"):
        assert run.status == "waiting"
        answer(only_review(run), reviewer, verdict)
        run = go(run)
    assert run.status == "succeeded"
    assert done() == ["b", "c"]
    verifier.verify()


def test_4_3_in_an_ordered_reply_nothing_passes_an_open_call() -> None:
    """Neither a read nor an allowed effect overtakes what is held, in doubt, or waits for its undo window."""
    held = call(0, "held", review=1)
    for later in (read(1), call(1, "approved"), call(1, "proposed")):
        assert move(held, later, ordered=True) == planner.Wait(reason="review")
        assert move(call(0, "in_doubt"), later, ordered=True) == planner.Wait(reason="review")
    assert isinstance(move(held, call(1, "approved")), planner.Act)
    closed = call(0, "rejected", closed=True)
    assert move(closed, call(1, "approved"), ordered=True) == planner.Act(call=call(1, "approved"))


def test_4_6_an_end_in_a_reply_with_other_calls_comes_last() -> None:
    """`finish` stands first in the reply, and is handled when everything beside it is closed."""
    ending = finish(0)
    assert isinstance(move(ending, read(1)), planner.Read)
    assert isinstance(move(ending, call(1, "approved")), planner.Act)
    assert move(ending, call(1, "held", review=1)) == planner.Wait(reason="review")
    assert move(ending, call(1, "in_doubt")) == planner.Wait(reason="review")
    assert move(ending, call(1, "succeeded", closed=True)) == planner.Finish(call=ending)
    assert isinstance(move(ending, read(1), ordered=True), planner.Read)
