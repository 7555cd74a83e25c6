"""The journeys of the desk in a browser that runs no scripts: by links and forms alone, as the pages hold them."""

from __future__ import annotations

import pytest
from django.conf import settings

from runs import models
from runs.tools import contract
from runs.transitions import branches
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import go, only_review, step
from tests.engine.world import Look, World
from tests.pages import test_questions as questions
from tests.pages.plain import Visitor
from tests.rules.branching import checkpoint, through

pytestmark = pytest.mark.django_db(transaction=True)


def test_read_edit_approve_and_take_it_back(who: factories.People, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong is put right before it goes out; the release is taken back and given once more."""
    monkeypatch.setitem(settings.CKPTSITE, "UNDO_WINDOW_2", 60.0)
    run = factories.held(who.operator, name="mail").run
    rita = Visitor(who.reviewer).go("/inbox/").follow("Will do mail.")
    assert '"name": "mail"' in rita.words
    rita.follow("Edit arguments").send("Save the change", {"Note": "To the back door."}, status=422)
    assert "Say why" in rita.words
    rita.send("Save the change", {"Why": "They have moved."})
    assert "What will happen is being worked out anew" in rita.words
    go(run)
    rita.go("/inbox/").follow("Will do mail.")
    assert "Changed by reviewer-1" in rita.words
    rita.send("Approve", {"Reason": "Read it."})
    assert "Approved: Will do mail." in rita.words
    rita.send("Take it back").follow("it is asked again")
    assert "You took it back." in rita.words
    monkeypatch.setitem(settings.CKPTSITE, "UNDO_WINDOW_2", 0.0)
    go(run)
    rita.go(rita.place).follow("It is asked again here").send("Approve", {"Reason": "Now."})
    assert go(run).status == "succeeded"
    assert models.Action.objects.get(run=run).arguments()["note"] == "To the back door."
    assert len(World.effects("mail")) == 1


def test_every_other_answer(who: factories.People) -> None:
    """Reject, ask back, done by hand, put off, hand over, answer a question, and what became of what is in doubt."""
    nora = factories.person("nora", "reviewer")
    names = ("letter", "parcel", "stamp", "later")
    reviews = {name: factories.held(who.operator, name=name) for name in names}
    asked, doubt = questions.asked(who), factories.in_doubt(who.operator, who.reviewer)
    World.reset(World.path)
    rita = Visitor(who.reviewer)

    def to(review: models.Review) -> Visitor:
        return rita.go(f"/reviews/{review.pk}/")

    to(reviews["letter"]).send("Reject", {"Why not?": "Wrong customer.", "Tell the agent and go on": True})
    assert "Rejected, it is not done: Will do letter." in rita.words
    to(reviews["parcel"]).send(
        "Record this answer", {"Ask back": True, "Question or reason": "Net or gross?"}
    )
    given = {"I did it by hand": True, "Question or reason": "It was urgent."}
    to(reviews["stamp"]).send("Record this answer", given | {"What proves it": ""}, status=422)
    rita.send("Record this answer", given | {"What proves it": "Stamp 17"})
    to(reviews["later"]).send("Snooze").go("/inbox/?tab=snoozed").follow("Will do later.")
    rita.send("Bring it back now")
    to(reviews["later"]).send("Hand it over", {"To": "nora", "Note": "You know them."})
    assert "nora has it now" in rita.words
    to(asked).send("Answer", {"What to do": "wait", "Days": ""}, status=422).send("Answer", {"Days": "14"})
    found = {"It happened": True, "What proves it": "Parcel 9", "Where you looked": "The carrier's list."}
    to(only_review(doubt)).send("Record this answer", found)
    for run in [*(reviews[name].run for name in names[:3]), asked.run, doubt]:
        assert go(run).status == "succeeded"
    assert models.Handover.objects.get().to == nora
    assert World.effects() == []


def test_find_keep_the_view_and_decide_together(who: factories.People) -> None:
    """Search, filter, a view of one's own, then several at once; what is missing is said and nothing is lost."""
    for name in ("letter one", "letter two", "letter three"):
        factories.held(who.operator, name=name, title="Letters")
    factories.held(who.operator, name="parcel", tool="idempotent", title="Parcels")
    rita = Visitor(who.reviewer).go("/inbox/").send("Search", {"Search the questions": "lett"})
    rita.send("Apply", {"Tool": "world.lookup"}).send("Save", {"Name": "Letters that go out"})
    assert "Saved as “Letters that go out”." in rita.words
    titles = [f"Will do letter {number}." for number in ("one", "two", "three")]
    rita.send("Look at the selected together", {f"Select: {title}": True for title in titles})
    read = {f"I have read this one: {title}": True for title in titles[:2]}
    rita.send("Approve the ticked", read, status=422).send("Approve the ticked", {"Reason": "Read them."})
    assert "2 of 2 approved" in rita.words
    rita.follow("Go on with the other 1").send(
        "Reject the ticked", {"I have read": True, "Reason": "Not this."}
    )
    assert "1 of 1 rejected" in rita.words
    rita.go("/inbox/").follow("Letters that go out")
    assert "Nothing matches" in rita.words
    verdicts = models.Decision.objects.order_by("pk").values_list("verdict", flat=True)
    assert list(verdicts) == ["approve", "approve", "reject"]


def test_pause_put_the_plan_in_order_and_go_on(who: factories.People) -> None:
    """Each button beside a step is a plain one: move, gate, add with its fields, take out; only the last one saves."""
    steps = [step("lookup", "mail"), step("look", "it"), step("allowed", "draft")]
    run = go(factories.start(who.operator, *steps))
    olga = Visitor(who.operator).go(f"/runs/{run.pk}/").send("Pause").follow("Plan").follow("Change the plan")
    olga.send("Move up: Do draft").send("Approval gate before: Do draft").send("New step after: Do draft")
    olga.send("Done with this step", {"Title": "Look again", "Tool": "world.look ("})
    olga.send("Take out: Do it").send("Edit Look again").send("Done with this step", {"Title": "Look twice"})
    olga.send("Save the plan", status=422).send("Save the plan", {"Why does it change?": "The draft first."})
    assert "Plan version 2 saved." in olga.words
    olga.send("Resume")
    go(run)
    newest = models.Plan.objects.filter(run=run).latest("version")
    assert [one["title"] for one in newest.steps] == ["Do mail", "Do draft", "Look twice", "End"]
    assert newest.steps[1]["body"]["gate"] == {"by": "operator-1"}
    olga.go(f"/runs/{run.pk}/").send("Stop the run", {"Why?": "It was a try."})
    assert go(run).status == "cancelled"


def test_go_on_from_a_failure_with_what_was_wrong_put_right(who: factories.People) -> None:
    """Why it failed, from where, with which input; then all others of that cause at once; nothing goes out twice."""
    Look.failures = [contract.DidNotHappen("There is no such customer.") for _ in range(3)]
    steps = [step("lookup", "letter"), {**step("look"), "with": {"name": "${input.customer}"}}]
    runs = [
        through(
            factories.start(who.operator, *steps, given={"customer": "Nordwin", "words": "Two\nlines. "}),
            who.reviewer,
        )
        for _ in range(3)
    ]
    olga = Visitor(who.operator).go("/runs/?only=failed").go(f"/runs/{runs[0].pk}/")
    olga.follow("Go on from a checkpoint…")
    assert "There is no such customer." in olga.words
    olga.send("Show what this means", {"Checkpoint": "2, "})
    olga.send("Go on from here", {"Customer": "Nordwind"}, status=422)
    olga.send("Go on from here", {"Why?": "The name was misspelt.", "Stays done": True})
    assert "goes on from checkpoint 2" in olga.words
    new = models.Run.objects.get(root=runs[0], superseded_by=None)
    assert go(new).status == "succeeded"
    assert new.input == {"customer": "Nordwind", "words": "Two\nlines. "}
    cause = "“…” failed: There is no such customer."
    olga.go("/runs/?only=failed").follow(cause).follow("Go on with all of this cause…")
    olga.send("Go on with the ticked ones", status=422)
    olga.send("Go on with the ticked ones", {"Why do they go on?": "The list is there now."})
    assert "2 of 2 go on" in olga.words
    for run in runs[1:]:
        assert go(models.Run.objects.get(root=run, superseded_by=None)).status == "succeeded"
    assert len(World.effects("letter")) == 3


def test_compare_take_over_what_differs_and_an_undo(who: factories.People) -> None:
    """A dry run beside the run is compared and taken over; two checkpoints differ; an effect is taken back."""
    run = through(factories.start(who.operator, step("back", "mail"), step("look", "it")), who.reviewer)
    start, by = checkpoint(run, "planned"), Actor(user=who.operator)
    dry = go(branches.fork(run.pk, checkpoint=start, reason="To see.", by=by, token="dry"))
    olga = Visitor(who.operator).go(f"/runs/{run.pk}/checkpoints/").send("Show what differs")
    olga.follow("Side by side").follow("Unified")
    assert "difference" in olga.words
    olga.go(f"/runs/{run.pk}/transcript/").send("Find", {"Words": "mail"})
    olga.go(f"/runs/{dry.pk}/").follow("Compare…")
    olga.send("Take it over", {"Why?": "It went better."})
    assert f"takes dry run {dry.pk} over" in olga.words
    new = models.Run.objects.get(root=run, mode="live", superseded_by=None)
    assert go(new).status == "succeeded"
    olga.go(f"/runs/{new.pk}/effects/").send("Ask to take it back", {"Why?": "Wrong customer."})
    assert "Asked for." in olga.words
    undo = go(models.Run.objects.latest("pk"))
    rita = Visitor(who.reviewer).go(f"/reviews/{only_review(undo).pk}/")
    rita.send("Approve", {"Reason": "The customer is wrong indeed."})
    assert go(undo).status == "succeeded"
    assert [line["name"] for line in World.effects()] == ["mail", "undo mail"]
