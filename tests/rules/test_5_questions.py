"""Questions of an agent: asked once, answered with a value of the form that was asked for, and lost by no crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runs import exact, models, points
from runs.engine import verifier
from runs.providers import contract
from runs.transitions import clocks, decisions, holds, refusals, switches
from runs.transitions.actor import Actor
from tests.core import tampering
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_bad_replies import FINISH, said, scripted
from tests.engine.test_unknown import tomorrow
from tests.engine.world import World
from tests.rules.branching import redrive

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["days", "reason"],
    "additionalProperties": False,
    "properties": {"days": {"type": "integer", "minimum": 1}, "reason": {"type": "string"}},
}
VALUE = '{"days":14,"reason":"as agreed"}'
QUESTION = {
    "id": "days",
    "title": "Ask how long",
    "ask": {"question": "How many days more for ${input.who}?", "schema": SCHEMA},
}
AFTER = step("lookup", "mail", id="mail", note="x") | {
    "with": {"name": "mail", "note": "${steps.days.reason}", "amount": "${string(steps.days.days)}"}
}
ASK = contract.Call(
    tool="ask_human", arguments={"question": "Which way?", "schema": {"enum": ["left", "right"]}}
)


def asked(start: Start) -> models.Run:
    """A run of a playbook that waits for an answer."""
    run = go(start(QUESTION, AFTER, input={"who": "Nordwind"}))
    assert (run.status, run.reason) == ("waiting", "review")
    return run


def test_5_8_the_value_is_the_calls_result(start: Start, reviewer: models.User) -> None:
    """Asked by the playbook's step, answered with a value, read by the next step; everything is in log and audit."""
    run = asked(start)
    review = only_review(run)
    assert (review.kind, review.title, review.groups) == (
        "question",
        "How many days more for Nordwind?",
        ["reviewer"],
    )
    position, index = review.content["call"]
    named = exact.link(run.pk, position, index, review.content["question"], exact.digest_of(SCHEMA))
    assert review.digest == named
    verifier.verify()
    answer(review, reviewer, "answer", value=VALUE, reason="Spoke to them.")
    verifier.verify()
    run = go(run)
    assert said(run)[-1] == "rita answered. Spoke to them."
    action = models.Action.objects.get(run=run)
    assert action.arguments() == {"name": "mail", "note": "as agreed", "amount": "14"}
    assert models.PlanStep.objects.get(run=run, key="days").state == "done"
    assert models.Decision.objects.get().content == {"value": exact.parse(VALUE)}
    verifier.verify()
    answer(only_review(run), reviewer, "approve")
    assert go(run).status == "succeeded"
    verifier.verify()


def test_5_8_what_does_not_fit_is_no_answer(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """The schema decides, whoever calls; other verbs, other people and a second answer are refused."""
    run = asked(start)
    review = only_review(run)
    for value, sentence in (
        ('{"days":0,"reason":"x"}', "days: At least 1."),
        ('{"days":1.5,"reason":"x"}', "days: This must be a whole number."),
        ('{"days":1}', "'reason' is missing"),
        ('{"days":1,"reason":"x","more":1}', "dditional properties"),
        ("{", "not JSON"),
        (None, "answered with a value"),
    ):
        with pytest.raises(refusals.Invalid, match=sentence):
            answer(review, reviewer, "answer", value=value)
    with pytest.raises(refusals.Invalid, match="is no answer"):
        answer(review, reviewer, "approve")
    with pytest.raises(refusals.Invalid, match="Say why you can't answer"):
        answer(review, reviewer, "cannot", reason=" ")
    with pytest.raises(refusals.NotYours, match="reviewer can"):
        answer(review, operator, "answer", value=VALUE)
    answer(review, reviewer, "answer", value=VALUE)
    with pytest.raises(refusals.Stale, match="answered this first"):
        answer(review, reviewer, "answer", value=VALUE)
    with tampering.unhindered():
        models.Decision.objects.update(content={"value": {"days": 99, "reason": "x"}})
        with pytest.raises(verifier.Broken, match="the audit chain doesn't know it"):
            verifier.verify()


def test_5_7_no_answer_and_no_answer_in_time_are_said_in_words(start: Start, reviewer: models.User) -> None:
    """A model gets either as the result of its call, and goes on; both in one reply, each closed apart."""
    run = scripted(start(), contract.Reply(calls=(ASK, ASK)))
    first, second = models.Review.objects.filter(run=run, status="open").order_by("pk")
    answer(first, reviewer, "cannot", reason="Nobody here knows.")
    run = go(run)
    assert run.status == "waiting"
    with clockwork.ahead(hours=25):
        models.Review.objects.filter(pk=second.pk).update(expires_at=second.opened_at)
        assert clocks.expire_reviews() == 1
        run = scripted(run, contract.Reply(calls=(FINISH,)))
    assert run.status == "succeeded", run.error
    assert said(run)[:2] == [
        "No answer: rita can't answer this. Nobody here knows.",
        "No answer: nobody answered before the question expired. Go on without it, or ask again.",
    ]
    verifier.verify()


def test_4_3_a_question_holds_up_no_sibling(start: Start, reviewer: models.User) -> None:
    """Calls of one reply are independent: the effect is asked about and done while the question is still open."""
    mail = contract.Call(tool="world.lookup", arguments={"name": "mail"})
    run = scripted(start(), contract.Reply(calls=(ASK, mail)))
    answer(models.Review.objects.get(run=run, kind="action"), reviewer, "approve")
    run = go(run)
    assert (run.status, len(World.effects("mail"))) == ("waiting", 1)
    answer(only_review(run), reviewer, "answer", value='"left"')
    run = scripted(run, contract.Reply(calls=(FINISH,)))
    assert run.status == "succeeded", run.error
    verifier.verify()


def test_4_3_in_an_ordered_run_what_follows_waits_for_the_answer(start: Start, reviewer: models.User) -> None:
    """Where calls go in order, an effect behind a question isn't even asked about before it is answered."""
    mail = contract.Call(tool="world.lookup", arguments={"name": "mail"})
    run = scripted(start(ordered=True), contract.Reply(calls=(ASK, mail)))
    assert only_review(run).kind == "question"
    answer(only_review(run), reviewer, "answer", value='"left"')
    assert only_review(go(run)).kind == "action"


@pytest.mark.parametrize("point", ["ask_human.before", "ask_human.before_commit", "ask_human.after_commit",
                                   "fold_in.before_commit", "fold_in.after_commit"])  # fmt: skip
def test_4_1_a_death_at_any_point_asks_once_and_answers_once(
    start: Start, reviewer: models.User, point: str
) -> None:
    """The worker dies while it asks or while it takes the answer in: one question, one result."""
    run = start(QUESTION, input={"who": "x"})

    def reach(name: str) -> None:
        if name == point:
            points.arm(None)
            raise KeyboardInterrupt

    def on() -> models.Run:
        models.Run.objects.filter(pk=run.pk, status="running").update(
            lease_until=tomorrow() - (tomorrow() - run.created_at)
        )
        return go(run)

    for decided in (False, True):
        if decided:
            answer(only_review(run), reviewer, "answer", value=VALUE)
        points.arm(reach)
        try:
            go(run)
        except KeyboardInterrupt:
            verifier.verify()
            on()
        finally:
            points.arm(None)
        assert models.Review.objects.filter(run=run, kind="question").count() == 1
        verifier.verify()
    run.refresh_from_db()
    assert run.status == "succeeded", run.error
    assert said(run).count("rita answered. because") == 1


def test_6_4_a_new_attempt_asks_again(start: Start, reviewer: models.User, operator: models.User) -> None:
    """A question that is open at the cut is asked by the new attempt itself; the old one is no longer asked."""
    run = asked(start)
    old = only_review(run)
    new = redrive(run, run.checkpoint_number, operator)
    go(run)
    new = go(new)
    old.refresh_from_db()
    assert old.status == "superseded"
    answer(only_review(new), reviewer, "answer", value=VALUE)
    assert only_review(go(new)).kind == "action"
    verifier.verify()


def test_2_2_policy_says_who_answers_and_may_forbid_to_ask(start: Start, person: Person) -> None:
    """A rule for `ask_human` names the groups; a rule that denies closes the call in words, and nobody is asked."""
    admin = Actor(user=person("ada", "admin"))
    legal = {
        "name": "Legal answers",
        "match": {"tool": "ask_human"},
        "verdict": "review",
        "groups": ["operator"],
    }
    switches.set_policy({"version": 1, "rules": [legal]}, reason="law", by=admin)
    assert only_review(scripted(start(), contract.Reply(calls=(ASK,)))).groups == ["operator"]
    switches.set_policy({"version": 1, "rules": [legal | {"verdict": "deny"}]}, reason="quiet", by=admin)
    run = scripted(start(), contract.Reply(calls=(ASK,)), contract.Reply(calls=(FINISH,)))
    assert said(run)[0] == "Not done: the policy rule 'Legal answers' forbids it."
    verifier.verify()


@pytest.mark.parametrize(("arguments", "sentence"), [
    ([], "the arguments must be an object"), ({"question": " "}, "'question' must be a text"),
    ({"question": "x", "schema": {"type": "nothing"}}, "the schema is none"),
    ({"question": "x", "whom": "y"}, "there is no argument 'whom'"), ({"question": "x" * 5000}, "the limit is 4,000"),
])  # fmt: skip
def test_5_8_a_question_that_is_none_is_refused_in_words(start: Start, arguments: Any, sentence: str) -> None:
    bad = contract.Call(tool="ask_human", arguments=arguments)
    run = scripted(start(), contract.Reply(calls=(bad,)), contract.Reply(calls=(FINISH,)))
    assert sentence in said(run)[0]
    assert not models.Review.objects.filter(run=run).exists()


def test_5_3_stopping_withdraws_the_question(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """A stopped run asks nobody any more, and an answer that comes too late is refused."""
    run = asked(start)
    review = only_review(run)
    holds.stop(run.pk, reason="enough", by=Actor(user=operator))
    run = go(run)
    assert run.status == "cancelled"
    with pytest.raises(refusals.Stale):
        answer(review, reviewer, "answer", value=VALUE)
    assert decisions.ANSWERS["question"] == ("answer", "cannot")
    verifier.verify()
