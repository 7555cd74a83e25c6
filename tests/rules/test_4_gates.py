"""Gates, locks and approved plans: they add reviews, and only people take them away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from runs import models
from runs.engine import verifier
from runs.transitions import clocks, refusals
from runs.transitions.steps import guards
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World
from tests.rules.branching import redrive, through
from tests.rules.test_4_plan_edits import done, named, plan, save

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def body(**more: Any) -> dict[str, Any]:
    return {"tool": "world.allowed", **more}


def made(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "title": name, "body": body(**more)}


BY = {"by": "olga"}


def test_4_12_a_gate_asks_about_what_policy_would_let_through(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """Tier 1 is allowed by policy; with a person's gate before it somebody is asked, and it says who wanted that."""
    run = go(start(step("lookup", "mail"), step("allowed", "draft")))
    wanted = plan(run)
    named(wanted, "allowed")["body"]["gate"] = True
    save(run, wanted, operator)
    run = go(run)
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    assert (run.status, done()) == ("waiting", ["mail"])
    assert "olga wants to be asked" in only_review(run).content["why"]
    answer(only_review(run), reviewer, "approve")
    assert go(run).status == "succeeded"
    assert done() == ["mail", "draft"]
    verifier.verify()


def test_4_12_a_gate_before_a_loop_stands_before_each_of_its_rows(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """The playbook puts the rows in the loop's place, as a new version: the gate is still there."""
    rows = {"id": "rows", "title": "Rows", "each": '["a", "b"]', "as": "row", "tool": "world.allowed"}
    run = go(start(step("lookup", "mail"), {**rows, "with": {"name": "${row}"}}))
    wanted = plan(run)
    named(wanted, "rows")["body"]["gate"] = True
    save(run, wanted, operator)
    run = go(run)
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    assert models.Review.objects.filter(run=run, status="open").count() == 2
    assert all(item["body"]["gate"] == BY for item in plan(run) if item["id"].startswith("rows-"))
    verifier.verify()


def test_4_12_an_agents_new_plan_keeps_what_people_guarded() -> None:
    """It drops a gate, changes a locked step, takes out a gated one: gate, step and lock stay."""
    old = [made("a"), made("b", gate=BY), made("c", lock=BY, note="mine"), made("d", gate=BY)]
    kept = guards.whole(old, [made("a"), made("b"), made("c", note="other"), made("e")])
    assert [item["id"] for item in kept.steps] == ["a", "b", "c", "d", "e"]
    by_id = {item["id"]: item["body"] for item in kept.steps}
    assert by_id["b"]["gate"] == BY
    assert (by_id["c"]["note"], by_id["c"]["lock"]) == ("mine", BY)
    assert by_id["e"]["gate"] == BY  # what stands in for a gated step is gated too
    assert len(kept.notes) == 2


def test_4_12_a_plan_that_drops_nothing_stays_as_the_agent_wrote_it() -> None:
    """No gate from nowhere, and none that an agent says is a person's."""
    kept = guards.whole([made("a")], [made("a", gate=BY, lock=BY), made("b")])
    assert [item["body"] for item in kept.steps] == [body(), body()]
    assert kept.notes == ()


def test_4_12_a_locked_step_is_neither_skipped_nor_exchanged_by_an_agent() -> None:
    """Unless that is how the step itself is carried out: its own condition, its own loop."""
    from types import SimpleNamespace

    from runs.engine import planning
    from runs.state import PlanStep
    from runs.transitions import steps

    plain = PlanStep(id="a", title="a", body=body(lock=BY))
    own = PlanStep(id="b", title="b", body=body(lock=BY, each="[1]") | {"if": "true"})
    front: Any = SimpleNamespace(situation=SimpleNamespace(state=SimpleNamespace(plan=(plain, own))))
    for change in (
        steps.Change(skip="a"),
        steps.Change(replace="a", steps=(made("x", group="a", tool="world.x"),)),
    ):
        with pytest.raises(ValueError, match="olga locked the step 'a'"):
            planning._check_locks(front, change)
    planning._check_locks(front, steps.Change(skip="b"))
    planning._check_locks(front, steps.Change(replace="b", steps=(made("b-1", group="b"),)))


def test_4_12_a_person_takes_a_gate_away(start: Start, reviewer: models.User, operator: models.User) -> None:
    """Any person who may edit plans; the policy then decides alone."""
    run = go(start(step("lookup", "mail"), step("allowed", "draft")))
    for gate in (True, False):
        wanted = plan(run)
        named(wanted, "allowed")["body"]["gate"] = gate
        save(run, wanted, operator)
        run = go(run)
    answer(only_review(run), reviewer, "approve")
    assert go(run).status == "succeeded"
    verifier.verify()


def test_4_12_nothing_starts_before_the_plan_is_approved_and_that_approves_no_action(
    start: Start, reviewer: models.User
) -> None:
    """The run waits with its plan; once it is approved, tier 1 goes through and tier 2 is asked about as ever."""
    run = go(start(step("look", "it"), step("allowed", "draft"), step("lookup", "mail"), approve_plan=True))
    review = only_review(run)
    version = models.Plan.objects.get(run=run)
    assert (run.status, run.reason, World.effects()) == ("waiting", "plan", [])
    assert (review.kind, review.revision, review.digest) == ("plan", version.version, version.digest)
    answer(review, reviewer, "approve")
    run = go(run)
    assert (run.status, done(), run.approved_plan) == ("waiting", ["draft"], 1)
    assert only_review(run).kind == "action"
    verifier.verify()
    answer(only_review(run), reviewer, "approve")
    assert go(run).status == "succeeded"
    verifier.verify()


def test_4_12_what_leaves_an_approved_plan_is_asked_about(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """A step that was not in the approved plan: policy would allow it, and it is read all the same."""
    rows = {"id": "rows", "title": "Rows", "each": '["a"]', "as": "row", "tool": "world.allowed"}
    loop = {**rows, "with": {"name": "${row}"}}
    run = go(start(step("lookup", "mail"), step("allowed", "draft"), loop, approve_plan=True))
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    wanted = plan(run)
    named(wanted, "allowed")["body"]["with"] = {"name": "other"}
    save(run, wanted, operator)
    run = go(run)
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    assert (run.status, done()) == ("waiting", ["mail"])
    assert "its step is another than the plan that was approved, version 1" in only_review(run).content["why"]
    assert only_review(run).content["deviation"]
    answer(only_review(run), reviewer, "approve")
    assert go(run).status == "succeeded"
    assert done() == ["mail", "other", "a"]  # a row of an approved loop is in the plan
    verifier.verify()


def test_4_12_an_edited_plan_is_asked_about_anew(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """Edited while the question was open: the old answer is worth nothing, the new version is asked about."""
    run = go(start(step("allowed", "draft"), approve_plan=True))
    old = only_review(run)
    wanted = plan(run)
    named(wanted, "allowed")["body"]["with"] = {"name": "other"}
    save(run, wanted, operator)
    answer(old, reviewer, "approve")  # arrives after the edit, before the engine's turn
    run = go(run)
    new = only_review(run)
    assert (new.revision, run.approved_plan, World.effects()) == (2, 0, [])
    answer(new, reviewer, "approve")
    assert go(run).status == "succeeded"
    assert done() == ["other"]
    verifier.verify()


@pytest.mark.parametrize("how", ["reject", "expire"])
def test_4_12_a_refused_plan_ends_the_run_with_its_cause_and_a_retry_asks_again(
    start: Start, reviewer: models.User, operator: models.User, how: str
) -> None:
    """The failure names who refused and why; nothing was started."""
    run = go(start(step("allowed", "draft"), approve_plan=True))
    if how == "reject":
        answer(only_review(run), reviewer, "reject", reason="Far too much.")
    else:
        models.Review.objects.filter(run=run).update(expires_at=timezone.now())
        assert clocks.expire_reviews() == 1
    run = go(run)
    cause = (
        "rita rejected the plan: Far too much." if how == "reject" else "Nobody approved the plan in time."
    )
    assert (run.status, run.error, World.effects()) == ("failed", cause, [])
    answer(only_review(run), operator, "retry")
    run = go(run)
    assert (run.status, only_review(run).kind) == ("waiting", "plan")
    answer(only_review(run), reviewer, "approve")
    assert go(run).status == "succeeded"
    verifier.verify()


def test_4_12_an_approved_plan_is_not_taken_back(start: Start, reviewer: models.User) -> None:
    """There is no window for it; the run can be paused or stopped."""
    from runs.transitions import decisions
    from runs.transitions.actor import Actor

    run = go(start(step("lookup", "mail"), approve_plan=True))
    review = only_review(run)
    answer(review, reviewer, "approve")
    with pytest.raises(refusals.Stale, match="too late"):
        decisions.withdraw(review.pk, by=Actor(user=reviewer))


def test_4_12_a_new_attempt_takes_no_approval_of_the_plan_over(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """Re-driven from after the approval: the plan of the old attempt is read again, and its gates stand."""
    run = go(start(step("lookup", "mail"), step("allowed", "draft"), approve_plan=True))
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    wanted = plan(run)
    named(wanted, "allowed")["body"]["gate"] = True
    save(run, wanted, operator)
    run = go(run)
    new = redrive(run, run.checkpoint_number, operator)
    go(run)
    new = go(new)
    review = only_review(new)
    assert (new.status, review.kind, new.approved_plan, World.effects()) == ("waiting", "plan", 0, [])
    verifier.verify()
    answer(review, reviewer, "approve")
    new = through(new, reviewer)
    assert (new.status, done()) == ("succeeded", ["mail", "draft"])
    assert models.Review.objects.filter(run=new, kind="action", status="approved").count() == 2
    verifier.verify()


def test_4_12_a_models_next_request_has_the_edited_plan_and_what_leaves_an_approved_one_is_a_deviation(
    reviewer: models.User, operator: models.User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recorded model plans, is approved, is given another plan by a person, and then acts beside every step."""
    from runs import seed
    from runs.providers import contract, declared, replay
    from runs.transitions import starts
    from runs.transitions.actor import Actor

    asked: list[contract.Request] = []
    complete = replay.Replay.complete

    def recorded(self: replay.Replay, request: contract.Request, *, timeout: float) -> contract.Reply:
        asked.append(request)
        return complete(self, request, timeout=timeout)

    monkeypatch.setattr(replay.Replay, "complete", recorded)
    steps = [made("draft", **{"with": {"name": "planned"}}), {"id": "words", "title": "Think", "body": {}}]
    replies = [
        {"calls": [{"tool": "plan", "arguments": {"steps": steps}}]},
        {"calls": [{"tool": "world.lookup", "arguments": {"name": "letter"}, "step": "words"}]},
        {"calls": [{"tool": "world.allowed", "arguments": {"name": "beside"}}]},
    ]
    seed.register(
        declared.Agent(
            name="modelled", title="A model", provider="replay", definition={"replies": replies},
            tools=("world.allowed", "world.lookup"), input_schema={"type": "object", "properties": {}},
            approve_plan=True,
        )
    )  # fmt: skip
    run = starts.start_run("modelled", input={}, title="x", by=Actor(user=operator), token="modelled")
    run = go(run)
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    assert only_review(run).content.get("deviation") is None  # the step is only words, and it is of the plan
    wanted = plan(run)
    wanted.insert(2, {"id": "added-1-1", "title": "By a person", "body": {"note": "Ask Ann first."}})
    save(run, wanted, operator)
    run = go(run)
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    assert [step.title for step in asked[-1].plan] == ["draft", "By a person"]
    assert asked[-1].plan[1].body == {"note": "Ask Ann first."}
    review = only_review(run)
    assert "it belongs to no step of the plan that was approved, version 1" in review.content["why"]
    assert (review.content["deviation"], done()) == (True, ["letter"])
    verifier.verify()
