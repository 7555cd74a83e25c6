"""What the forms answer when something is wrong, missing or has changed: as good to look at as any other page."""

from __future__ import annotations

import re
from typing import Any

import pytest

from runs import causes, models
from runs.transitions import plan_edits
from runs.transitions.actor import Actor
from tests import factories
from tests.browser.desk import aside
from tests.browser.test_looks import WIDE, Sit, looks
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import Costly
from tests.forms import order
from tests.pages import test_questions as questions
from tests.pages.plain import Visitor
from tests.rules.branching import through

ANSWERED = re.compile("status of (403|409|422)")
pytestmark = pytest.mark.django_db(transaction=True)


class Collector:
    """Somebody who sends forms with something wrong, and keeps what comes back."""

    def __init__(self, user: models.User) -> None:
        self.visitor = Visitor(user)
        self.kept: dict[str, Any] = {}

    def open(self, path: str) -> Collector:
        """Open a page."""
        self.visitor.go(path)
        return self

    def keep(self, name: str, button: str, status: int, given: dict[str, Any] | None = None) -> None:
        """Send the form of the page that is open."""
        self.kept[name] = self.visitor.send(button, given, status=status).answer


def refused(ada: Collector, who: factories.People) -> None:
    """What is missing or wrong: 422."""
    final, other = factories.held(who.operator, tool="costly"), factories.held(who.operator)
    doubt, failed = factories.in_doubt(who.operator, who.reviewer), factories.failed(who.operator)
    done = through(factories.start(who.operator, step("back", "mail")), who.reviewer)
    ada.open(f"/reviews/{final.pk}/").keep("final", "Approve", 422, {"Type this again": "2.00"})
    ada.open(f"/reviews/{other.pk}/").keep("wider", "Record this answer", 422, {"Ask back": True})
    ada.open(f"/reviews/{only_review(doubt).pk}/").keep("doubt", "Record this answer", 422)
    ada.open(f"/reviews/{questions.asked(who).pk}/").keep("question", "Answer", 422)
    ada.open(f"/reviews/{order.asked(who.operator).pk}/edit/").keep("edit", "Save", 422, {"To": "nobody"})
    ada.open(f"/reviews/batch/?review={other.pk}").keep("batch", "Approve the ticked", 422)
    ada.open(f"/runs/{other.run_id}/plan/edit/").keep("plan", "Save the plan", 422)
    ada.open(f"/runs/{failed.pk}/redrive/").keep("redrive", "Go on from here", 422)
    ada.open(f"/runs/redrive/?cause={causes.key(failed.error)}").keep("many", "Go on with the ticked", 422)
    ada.keep("many-done", "Go on with the ticked", 200, {"Why do they go on?": "The file is there now."})
    ada.open(f"/runs/{done.pk}/effects/").keep("undo", "Ask to take it back", 422, {"Why?": " "})
    ada.open("/inbox/?q=thing").keep("view", "Save", 422)
    ada.open("/runs/").keep("start", "Start", 422)


def overtaken(ada: Collector, who: factories.People) -> None:
    """What has changed meanwhile: 409, and a question that is asked again because the world is another one."""
    decided, changed, edited = (factories.held(who.operator, name=f"mail {n}") for n in range(3))
    ada.open(f"/reviews/{decided.pk}/")
    answer(decided, who.reviewer, "approve")
    ada.keep("decided", "Reject", 409, {"Why not?": "An hour of thinking."})
    ada.open(f"/reviews/{changed.pk}/")
    models.Review.objects.filter(pk=changed.pk).update(revision=2)
    ada.keep("changed", "Approve", 409, {"Reason": "Read it."})
    ada.open(f"/reviews/{edited.pk}/edit/")
    answer(edited, who.reviewer, "approve")
    ada.keep("edited", "Save the change", 409, {"Note": "Half a thought.", "Why": "They have moved."})
    run = go(factories.start(who.operator, step("lookup", "mail"), step("look", "it")))
    ada.open(f"/runs/{run.pk}/plan/edit/").visitor.send("Take out: Do it")
    steps = [{"id": one.key, "title": "Theirs", "body": one.body} for one in run.plan_steps.order_by("order")]
    plan_edits.save(run.pk, plan_edits.Edit(base=1, steps=steps, reason="Theirs."), by=Actor(user=who.admin))
    ada.keep("plan-saved", "Save the plan", 409, {"Why does it change?": "Mine."})
    fee = go(factories.start(who.operator, step("costly", "fee")))
    answer(only_review(fee), who.reviewer, "approve")
    Costly.balance = 5
    ada.kept["world"] = ada.open(f"/reviews/{only_review(go(fee)).pk}/").visitor.answer
    ada.kept["forbidden"] = Visitor(who.viewer).go("/reviews/batch/").answer
    sent = {"What": "Everything", "Why?": "An audit."}
    ada.open("/switches/").keep("paused", "Pause", 200, sent)


def test_its_answers(who: factories.People, sit: Sit) -> None:
    with aside():
        ada = Collector(who.admin)
        refused(ada, who)
        overtaken(ada, who)
    desk = sit(who.admin, **WIDE)
    desk.expected = ANSWERED
    assert [
        words
        for name, given in ada.kept.items()
        for words in looks(desk, desk.shown(name, given), keys=False)
    ] == []
