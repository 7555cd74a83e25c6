"""Whatever a model or its vendor does wrong is told to the model, waited for, or put before people."""

from __future__ import annotations

import datetime
from unittest import mock

import pytest

from runs import lifecycle, models
from runs.engine import verifier
from runs.providers import llm
from tests.engine.conftest import answer, only_review
from tests.engine.world import Look, World
from tests.llm.conftest import KEY, Start, finish, go, plan
from tests.llm.wire import Say, Server, Trouble
from tests.rules.test_8_lost_calls import notes

pytestmark = pytest.mark.django_db(transaction=True)

LOOK = ("world_look", {"name": "it"})
ACT = ("world_unprotected", {"name": "it"})


def waits(run: models.Run) -> float:
    """How many seconds the run waits before it asks again."""
    assert (run.status, run.reason) == ("queued", "backoff"), run.error
    assert run.wake_at is not None
    return (run.wake_at - datetime.datetime.now(datetime.UTC)).total_seconds()


@pytest.mark.parametrize(("vendor", "stream"), [("anthropic", True), ("openai", False)])
def test_a_vendor_out_of_order_is_waited_for(server: Server, start: Start, vendor: str, stream: bool) -> None:
    """A limit, trouble of the vendor's own, a cut, a hang: it is due again later, and what may cost is booked."""
    server.will(Trouble(status=429, headers={"retry-after": "77"}, said=f"too many for {KEY}"))
    run = go(start(vendor, stream=stream))
    assert 60 < waits(run) < 78
    assert "takes no more requests" in run.error
    assert KEY not in run.error
    assert notes(run, "lost_call") == []  # nothing was answered, nothing is paid
    for trouble in (Trouble(status=500), Trouble(status=529)):
        server.will(trouble)
        run = go(start(vendor, stream=stream))
        assert 0 < waits(run) < 10
        assert "trouble of its own" in run.error
        assert notes(run, "lost_call") == []
    for trouble in (Trouble(cut=True), Trouble(half=True)):
        server.will(trouble)
        run = go(start(vendor, stream=stream))
        assert 0 < waits(run) < 10, run.error
        (booked,) = notes(run, "lost_call")  # it may have to be paid
        assert booked.content["usage"]["tokens_out"] == llm.OUTPUT
    with mock.patch.dict("django.conf.settings.CKPTSITE", {"MODEL_TIMEOUT": 0.5}):
        server.will(Trouble(hang=1.0, cut=True))
        run = go(start(vendor, stream=stream))
    assert 0 < waits(run) < 10
    assert "did not answer within" in run.error
    assert len(notes(run, "lost_call")) == 1
    # It goes on where it was, and ends in a question to people once it has been in vain too often.
    server.will(finish())
    models.Run.objects.filter(pk=run.pk).update(wake_at=datetime.datetime.now(datetime.UTC))
    assert go(run).status == "succeeded"
    run = start(vendor, stream=stream)
    for _ in range(6):
        server.will(Trouble(status=500))
        models.Run.objects.filter(pk=run.pk).update(wake_at=datetime.datetime.now(datetime.UTC))
        run = go(run)
    assert run.status == "failed"
    assert only_review(run).kind == lifecycle.ReviewKind.FAILURE
    verifier.verify()


def test_a_vendor_that_will_not_serve_us_is_a_matter_for_people(server: Server, start: Start) -> None:
    """A wrong key, none, a request that is refused, packages that aren't there: the run fails with one sentence."""
    server.will(
        Trouble(status=401, said=f"no such key: {KEY}"), Trouble(status=400, said="no such parameter")
    )
    run = go(start())
    assert run.status == "failed"
    assert "does not accept the key" in run.error
    assert KEY not in run.error
    assert only_review(run).kind == lifecycle.ReviewKind.FAILURE
    run = go(start())
    assert "no such parameter" in run.error
    with mock.patch.dict("os.environ", {"ANTHROPIC_API_KEY": ""}):
        assert "set ANTHROPIC_API_KEY" in go(start()).error
    run = start(
        "openai", base_url="http://127.0.0.1:1/v1"
    )  # nobody is there, and the vendor's key isn't tried
    assert "There is no connection" in go(run).error
    run = start()
    with mock.patch.object(llm, "installed", return_value=False):
        assert go(run).error == llm.EXTRA
    assert len(server.asked) == 2


@pytest.mark.parametrize("vendor", ["anthropic", "openai"])
def test_a_refusal_is_kept_and_told_to_people(
    server: Server, start: Start, operator: models.User, vendor: str
) -> None:
    """What the model refused was paid for; who looks at it may have it asked again, and it isn't shown its refusal."""
    server.will(Say(text="I won't help with that.", stop="refusal"), Say(stop="filter"), finish())
    run = go(start(vendor))
    assert run.status == "failed"
    assert "refused" in run.error
    reply = models.Entry.objects.get(run=run, kind="reply")
    assert (reply.content["text"], reply.content["usage"]["tokens_in"]) == (
        "I won't help with that.",
        100,
    ) or (vendor == "anthropic" and reply.content["text"] == "I won't help with that.")
    answer(only_review(run), operator, "retry")
    run = go(run)
    assert run.status == "failed"
    assert "I won't help with that." not in repr(server.asked[1])
    answer(only_review(run), operator, "retry")
    assert go(run).status == "succeeded"
    verifier.verify()


@pytest.mark.parametrize("vendor", ["anthropic", "openai"])
def test_a_reply_of_no_use_is_told_so_and_kept(server: Server, start: Start, vendor: str) -> None:
    """Nothing, text alone, a cut, unreadable arguments, an unknown tool, an effect without a plan: then it goes on."""
    wrong = [
        (Say(), "You answered nothing"),
        (Say(text="Let me think."), "Text alone reaches nobody"),
        (Say(calls=(LOOK, ACT), stop="length"), "cut off"),
        (Say(calls=(("world_nothing", {"a": 1}),)), "no tool named 'world_nothing'"),
        (Say(calls=(ACT,)), "make a plan with 'plan' first"),
        (Say(calls=(("world_look", {"name": 7, "more": 1}),)), "world.look: "),
        (Say(calls=(plan("a", "a"),)), "stands twice"),
        (Say(calls=(("plan", {"steps": "none"}),)), "must be a list"),
        (Say(calls=(("finish", {"result": 1}),)), "need a 'summary'"),
        (Say(calls=(LOOK, ("finish", {"summary": "Done."}))), "call it alone"),
        (Say(calls=tuple(LOOK for _ in range(51))), "51 calls at once"),
    ]
    if vendor == "openai":
        wrong.append((Say(calls=(("world_look", '{"name": '),)), "no JSON object"))
    run = start(vendor, budget={"steps": 99})
    good = Say(calls=(LOOK,))
    server.will(*(line for reply, _ in wrong for line in (reply, good)), finish())
    run = go(run)
    assert run.status == "succeeded", run.error
    for number, (_, said) in enumerate(wrong):
        assert said in repr(server.asked[2 * number + 1]), said
    assert World.effects() == []
    replies = models.Entry.objects.filter(run=run, kind="reply")
    assert replies.count() == run.steps == 2 * len(wrong) + 1
    told = models.Entry.objects.filter(run=run, kind="message")
    assert all(line.content["number"] == 1 for line in told)  # between them something went on
    verifier.verify()


def test_a_fault_in_a_tools_own_code_loses_no_paid_reply(server: Server, start: Start) -> None:
    """The call can't be looked at; the reply is kept, and the model is told."""
    server.will(Say(calls=(LOOK,)), finish())
    run = start()
    with mock.patch.object(Look, "identity_of", side_effect=RuntimeError("broken")):
        run = go(run)
    assert (run.status, run.steps) == ("succeeded", 2)
    assert "world.look: it could not be looked at: RuntimeError: broken" in repr(server.asked[1])


def test_a_model_that_learns_nothing_is_a_matter_for_people(
    server: Server, start: Start, operator: models.User
) -> None:
    """It is told three times in a row; after one more the run fails, and a person may have it tried again."""
    server.will(Say(), Say(text="Well."), Say(calls=(ACT,)), Say(), Say(), finish())
    run = go(start())
    assert run.status == "failed"
    assert "could not be used 4 times in a row: empty" in run.error
    assert run.steps == 4
    answer(only_review(run), operator, "retry")
    run = go(run)
    assert run.status == "succeeded"
    assert "asks you to try again" in repr(server.asked[4])
    verifier.verify()
