"""A checkpoint is a position of the log: its state is rebuilt from there, in branched runs too."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from runs import lifecycle, models, points, state
from runs.engine import frontier, verifier
from runs.models import paths
from runs.tools.contract import DidNotHappen
from runs.transitions import steps
from tests.engine.conftest import answer, go, step
from tests.engine.world import Look, World
from tests.rules.branching import checkpoint, redrive, through

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
TOOLS = ("look", "allowed", "lookup", "idempotent", "costly")


def folded(run: models.Run, upto: int | None = None) -> state.State:
    """Return the state of a run as its log alone says it."""
    lines = paths.told(run.path, run.pk)
    return state.fold(line for line in lines if upto is None or line.position <= upto)


def of_state(now: state.State) -> dict[str, Any]:
    """Return a folded state as rows would show it."""
    return {
        "input": now.input,
        "plan": [(item.id, item.state) for item in now.plan],
        "version": now.plan_version,
        "open": {call.id: (call.status, call.digest) for call in now.open_calls() if call.is_effect},
        "counters": now.counters.as_json(),
    }


def of_rows(run: models.Run) -> dict[str, Any]:
    """Return what the rows of a run say at this moment."""
    actions = models.Action.objects.filter(run=run, status__in=lifecycle.ACTION_OPEN)
    rows = models.PlanStep.objects.filter(run=run).order_by("order")
    return {
        "input": run.input,
        "plan": [(row.key, row.state) for row in rows],
        "version": run.plan_version,
        "open": {(row.reply_position, row.call_index): (row.status, row.digest) for row in actions},
        "counters": frontier.counters(run).as_json(),
    }


@contextmanager
def recording(seen: dict[tuple[int, int], dict[str, Any]]) -> Iterator[None]:
    """Note what the rows say at each checkpoint of each run, at the commit that made it."""

    def reach(name: str) -> None:
        if not name.endswith(".after_commit"):
            return
        for run in models.Run.objects.filter(begun=True):
            if run.checkpoint_position == run.position:
                seen.setdefault((run.pk, run.checkpoint_number), of_rows(run))

    points.arm(reach)
    try:
        yield
    finally:
        points.arm(None)


def same_as_frontier(run: models.Run) -> None:
    """What a worker reads of a run is what its whole log says."""
    front = frontier.load(steps.Claim(run_id=run.pk, fence=run.fence)).situation.state
    whole = folded(run)
    assert front.open_calls() == whole.open_calls()
    assert (front.input, front.counters, front.plan_version) == (
        whole.input,
        whole.counters,
        whole.plan_version,
    )
    waiting = {lifecycle.Step.PENDING, lifecycle.Step.ACTIVE}
    assert list(front.plan) == [item for item in whole.plan if item.state in waiting][: frontier.WINDOW]


@pytest.mark.parametrize("seed", range(4))
def test_6_1_a_checkpoint_rebuilt_from_the_log_is_what_the_rows_said_then(
    start: Start, operator: models.User, reviewer: models.User, seed: int
) -> None:
    """Whatever happened later, in this run or in those that branched off, a checkpoint's state stays what it was."""
    rng = random.Random(seed)
    seen: dict[tuple[int, int], dict[str, Any]] = {}
    chosen = [rng.choice(TOOLS) for _ in range(4)]
    given = [step(tool, f"{tool}-{rng.randrange(2)}", id=f"s{at}") for at, tool in enumerate(chosen)]
    with recording(seen):
        run = start(*given, {"id": "last", "title": "To whom", "tool": "world.look", "with": {"name": "${input.to}"}},
                    input={"to": "me"})  # fmt: skip
        for _ in range(4):
            Look.failures = [DidNotHappen("not there")] if rng.random() < 0.2 else []
            _some(run, reviewer, rng)
            Look.failures = []
            same_as_frontier(run)
            number = rng.randint(1, run.checkpoint_number)
            corrected = {"to": f"you-{rng.random()}"} if rng.random() < 0.5 else None
            new = redrive(run, number, operator, input=corrected)
            run.refresh_from_db()
            go(run)
            run = new
        run = through(run, reviewer)
    assert run.status in {"succeeded", "failed"}, run.reason
    checked = 0
    for (pk, number), rows in seen.items():
        owner = models.Run.objects.get(pk=pk)
        line = models.Checkpoint.objects.filter(run=owner, number=number).first()
        if line is not None:  # else it belongs to an ancestor, and the branch had nothing of its own yet
            assert of_state(folded(owner, line.position)) == rows, f"run {pk}, checkpoint {number}"
            checked += 1
    assert checked >= 10
    verifier.verify()


def _some(run: models.Run, reviewer: models.User, rng: random.Random) -> None:
    """Let the run come along for a while: some questions are answered, some wait."""
    for _ in range(rng.randint(1, 4)):
        if go(run).status != "waiting":
            return
        review = models.Review.objects.filter(run=run, status="open").order_by("pk").first()
        assert review is not None
        answer(review, reviewer, rng.choice(["approve", "approve", "reject"]))
    go(run)


def test_6_4_open_calls_are_proposed_again_and_old_approvals_do_not_count(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """A call that was approved at the cut is asked about anew, with the same arguments; the reply isn't."""
    run = go(start(step("lookup", "pay")))
    approved = models.Review.objects.get(run=run)
    answer(approved, reviewer, "approve")
    run = go(run)
    assert (run.status, len(World.effects())) == ("succeeded", 1)
    replies = models.Entry.objects.filter(kind="reply").count()
    new = go(redrive(run, checkpoint(run, "waiting"), operator))
    action = models.Action.objects.get(run=new)
    assert (action.status, action.digest) == ("absorbed", models.Action.objects.get(run=run).digest)
    assert models.Entry.objects.filter(run=new, kind="reply").count() == 1  # only the end
    assert replies == 3
    corrected = {(action.reply_position, 0): {"name": "more"}}
    other = go(redrive(run, checkpoint(run, "waiting"), operator, arguments=corrected))
    asked = models.Review.objects.get(run=other, status="open")
    assert asked.action is not None
    assert (asked.action.revision, models.Revision.objects.get(action=asked.action, number=2).author) == (
        2,
        operator,
    )
    assert through(other, reviewer).status == "succeeded", other.error
    assert [line["name"] for line in World.effects()] == ["pay", "more"]
    verifier.verify()


def test_6_6_the_world_is_not_rewound(start: Start, operator: models.User, reviewer: models.User) -> None:
    """State is the log: what reads see after the cut is today's world."""
    run = through(start(step("look", "it"), step("lookup", "pay")), reviewer)
    looked = len(Look.runs)
    new = through(redrive(run, checkpoint(run, "planned"), operator), reviewer)
    assert len(Look.runs) == looked + 1
    assert [row.tool for row in paths.left_behind(run.root_id, new.path)] == ["world.lookup"]
