"""Branches of a log: corrected input, numbers that go on, and chains that hold together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from runs import models, seed
from runs.engine import verifier
from runs.providers import declared
from runs.selectors import redrive_page
from runs.tools import contract
from runs.transitions import branches, effect_words, redrives, retention, starts, undos
from runs.transitions.actor import Actor
from runs.transitions.refusals import Invalid, NotYours, Stale
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import Look, World
from tests.rules.branching import checkpoint, redrive, through

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_7_1_templates_take_the_newest_correction(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """A corrected input is an entry of its own; what is made after it uses it, what was made before is kept."""
    steps = (
        step("lookup", "${input.to}", title="Pay ${input.to}"),
        step("look", "it", title="For ${input.to}"),
    )
    run = through(start(*steps, input={"to": "wrong"}), reviewer)
    new = through(redrive(run, checkpoint(run, "planned"), operator, input={"to": "right"}), reviewer)
    assert new.status == "succeeded", new.error
    assert [line["name"] for line in World.effects()] == ["wrong", "right"]
    entry = models.Entry.objects.get(run=new, kind="correction")
    assert (entry.content["input"], entry.content["before"]) == ({"to": "right"}, run.input_digest)
    again = through(redrive(new, checkpoint(new, "result"), operator), reviewer)
    assert again.input == {"to": "right"}
    later = through(redrive(new, checkpoint(new, "result"), operator, input={"to": "other"}), reviewer)
    titles = [
        list(models.PlanStep.objects.filter(run=one).order_by("order").values_list("title", flat=True)[:2])
        for one in (run, new, again, later)
    ]  # what was done for it keeps the name of the old input
    assert titles == [
        ["Pay wrong", "For wrong"],
        *[["Pay right", "For right"]] * 2,
        ["Pay right", "For other"],
    ]
    plan = models.Plan.objects.get(run=new)
    assert (plan.version, plan.author, plan.reason) == (2, operator, "The input was corrected.")
    verifier.verify()


def test_7_2_a_branch_copies_nothing_and_goes_on_from_the_cut(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """Positions, checkpoint numbers and plan versions go on, and the chain of the log does too."""
    run = through(start(step("look", "it"), step("lookup", "pay")), reviewer)
    number = checkpoint(run, "result")
    cut = models.Checkpoint.objects.get(run=run, number=number)
    new = redrive(run, number, operator)
    assert new.path == [[run.pk, cut.position]]
    first = models.Entry.objects.filter(run=new).order_by("position").first()
    assert first is not None
    assert (first.position, first.number) == (cut.position + 1, number + 1)
    assert models.Entry.objects.filter(run=new).count() == 1
    third = redrive(go(new), checkpoint(new, "created"), operator)
    assert third.path == [[run.pk, cut.position], [new.pk, first.position]]
    assert go(third).status == "succeeded", third.error
    verifier.verify()


def test_7_2_a_path_longer_than_32_is_refused(start: Start, operator: models.User) -> None:
    """Somebody who has branched so often begins separate work instead."""
    run = go(start(step("look", "it")))
    for _ in range(32):
        run = go(redrive(run, run.checkpoint_number, operator))
    with pytest.raises(Invalid, match="32 times"):
        redrive(run, run.checkpoint_number, operator)


@pytest.fixture
def corrected(operator: models.User, reviewer: models.User) -> models.Run:
    """A run of an agent that takes an input, which two of its four steps use."""
    seed.register(
        declared.Agent(
            name="letters",
            title="Letters",
            provider="playbook",
            definition={
                "steps": [
                    step("look", "it", id="first"),
                    step("look", "${input.to}", id="who", title="Look who"),
                    step("look", "that", id="third"),
                    step("lookup", "${input.to}", id="send", title="Send it"),
                    {"id": "end", "title": "End", "finish": {"summary": "Done."}},
                ]
            },
            tools=("world.look", "world.lookup"),
            input_schema={"type": "object", "properties": {"to": {"type": "string", "title": "To whom"}}},
        )
    )
    by = Actor(user=operator)
    return through(
        starts.start_run("letters", input={"to": "Ann"}, title="A letter", by=by, token="7"), reviewer
    )


def test_7_1_the_page_chooses_the_checkpoint_before_the_input_was_used(
    corrected: models.Run, operator: models.User
) -> None:
    """Only one step was done by then; from later ones the page says whose results keep the old input."""
    page = redrive_page.page(corrected, None, {})
    assert (page.chosen, page.keeps) == (checkpoint(corrected, "result"), ())
    later = redrive_page.page(corrected, corrected.checkpoint_number, {})
    assert later.keeps == ("Look who", "Do that", "Send it", "End")
    new = redrive(corrected, page.chosen, operator, input={"to": "Bob"})
    assert redrive_page.page(new, None, {}).chosen == new.checkpoint_number  # not used since it was corrected
    go(new)
    assert redrive_page.page(new, None, {}).chosen < new.checkpoint_number


def test_7_1_a_model_uses_the_input_from_its_first_reply_on(corrected: models.Run) -> None:
    """Nobody can tell what it took from it."""
    models.AgentVersion.objects.filter(pk=corrected.agent_version_id).update(provider="replay")
    run = models.Run.objects.get(pk=corrected.pk)
    assert redrive_page.page(run, None, {}).chosen == 1


def test_7_3_nothing_goes_on_from_a_sealed_lineage(
    start: Start, operator: models.User, reviewer: models.User, person: Callable[..., models.User]
) -> None:
    """No re-drive, fork, separate work, retry or undo; occurrences and receipts stay, and the record verifies."""
    admin = Actor(user=person("ada", "admin"))
    run = go(start(step("lookup", "pay")))
    with pytest.raises(Stale, match="still open"):
        retention.seal(run.pk, reason="three years are over", by=admin)
    run = through(run, reviewer)
    assert effect_words.index() == 1
    with pytest.raises(NotYours):
        retention.seal(run.pk, reason="three years are over", by=Actor(user=operator))
    for _ in range(2):
        assert retention.seal(run.pk, reason="three years are over", by=admin).sealed_at is not None
    assert effect_words.index() == 0
    assert list(models.Words.objects.values_list("words", flat=True)) == [""]  # of the effect, which was seen
    given: dict[str, Any] = {
        "checkpoint": 1,
        "reason": "again",
        "by": Actor(user=operator),
        "token": "sealed",
    }
    verbs: tuple[Any, ...] = (redrives.redrive, branches.fork, partial(branches.separate, acknowledged=""))
    for go_on in verbs:
        with pytest.raises(Stale, match="sealed"):
            go_on(run.pk, **given)
    done = models.Occurrence.objects.get(root=run)
    with pytest.raises(Stale, match="sealed"):
        undos.ask(done.pk, reason="wrong", by=Actor(user=operator), token="undo")
    assert models.Occurrence.objects.get(root=run).state == "standing"
    assert models.AuditEvent.objects.filter(act="lineage.sealed").count() == 1
    verifier.verify()
    models.Run.objects.filter(pk=run.pk).update(sealed_at=None)
    with pytest.raises(verifier.Broken, match="says that its lineage is sealed"):
        verifier.verify()


def test_7_3_a_failed_run_of_a_sealed_lineage_is_not_retried(
    start: Start, operator: models.User, person: Callable[..., models.User]
) -> None:
    """Its question stays answerable: it ends. Whoever answered late is refused."""
    Look.failures = [contract.DidNotHappen("The file is not there.")]
    run = go(start(step("look", "it")))
    question = only_review(run)
    models.Run.objects.filter(pk=run.pk).update(sealed_at=run.ended_at)
    with pytest.raises(Stale, match="sealed"):
        answer(question, operator, "retry")
    answer(question, operator, "stop")
