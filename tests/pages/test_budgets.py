"""The pages about what may be used in a day: meters, warnings, history, and limits that administrators set."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from runs import models
from runs.engine import verifier
from runs.selectors import budgets_page
from tests import factories
from tests.core.tampering import unhindered
from tests.engine.conftest import answer, go
from tests.pages.conftest import As
from tests.pages.test_pages import queries, text
from tests.rules.spending import asked, looks

pytestmark = pytest.mark.django_db(transaction=True)
ALL = "/budgets/everybody/"


def put(client: Client, address: str, **typed: Any) -> tuple[int, str]:
    """Send the form of a page as a browser would, with what was typed."""
    client.handler.enforce_csrf_checks = False
    found = re.search(r'name="base" value="(\d+)"', text(client, address))
    response = client.post(address, ({"base": found[1]} if found else {}) | typed)
    return response.status_code, " ".join(response.content.decode().split())


def test_limits_are_set_with_a_reason_and_hold_at_once(who: factories.People, as_: As) -> None:
    """A run waits for its agent's limit of today; an administrator raises it, and every page says how it stands."""
    admin = as_(who.admin)
    run = go(
        factories.start(who.operator, *looks(3), budget={"steps": 500}, per_day={"steps": 2, "seconds": 900})
    )
    other = go(factories.start(who.operator, *looks(1), title="Free"))
    name = run.agent_version.agent.name
    address = reverse("budget-agent", args=[name])
    question = asked(run)
    assert "Used up for today: “Test agent”, 2 turns of 2 (100 %)." in text(as_(who.viewer), "/budgets/")
    assert "Used up for today: “Test agent”, 2 turns of 2 (100 %)." in text(as_(who.viewer), "/inbox/")
    assert "All runs of this agent have today used 2 turns of 2 turns" in text(
        as_(who.viewer), f"/runs/{run.pk}/"
    )
    page = text(as_(who.viewer), address)
    assert "From the agent's definition." in page.replace("&#x27;", "'")
    assert reverse("review", args=[question.pk]) in page
    assert '<form class="card-body' not in page

    status, page = put(
        admin, address, steps="3", cost_micro="1.50", tools="world.look = 100\nworld.mild=7", reason=""
    )
    assert (status, "Say why the limits change" in page, 'value="1.50"' in page) == (422, True, True)
    for typed, why in (
        ({"steps": "2,000"}, "The limit of turns is a whole number, without commas."),
        ({"cost_micro": "x"}, "The limit of dollars is an amount of dollars"),
        ({"tools": "world.look"}, "Write one tool on each line"),
        ({"tools": "world.look=1\nworld.look=2"}, "world.look stands there twice."),
        ({"tools": "no.such = 1"}, "There is no tool named"),
    ):
        status, page = put(admin, address, reason="Why not", **typed)
        assert (status, why in page, "Why not" in page) == (422, True, True), typed
    assert not models.DayBudget.objects.exists()

    status, _ = put(admin, address, steps="3", tools="world.look = 100", reason="Month end.")
    assert status == 303
    run = go(run)
    assert (run.status, run.steps, asked(run).pk) == ("waiting", 3, asked(run).pk)
    status, page = put(admin, address, base=0, steps="9", reason="I was slower.")
    assert (status, "set other limits meanwhile: Month end." in page, "I was slower." in page) == (
        409,
        True,
        True,
    )
    # Lower than what is used: today it stays there, and tomorrow it holds whole. Lifted: nothing is asked any more.
    assert put(admin, address, steps="1", reason="Too much.")[0] == 303
    assert models.Account.objects.get(agent__name=name, measure="steps").limit == 3
    assert put(admin, address, steps="", reason="No more limits.")[0] == 303
    run = go(run)
    assert run.status == "succeeded", run.error
    assert models.DayBudget.objects.count() == 3
    page = text(admin, address)
    assert all(reason in page for reason in ("Month end.", "Too much.", "No more limits."))
    assert "No limit. Set by people." in page
    assert put(as_(who.operator), address, base=3, steps="5", reason="Please.")[0] == 403
    assert other.status == "succeeded"
    verifier.verify()
    event = models.AuditEvent.objects.filter(act="budget.set").earliest("seq")
    assert event.content["before"] == {"steps": 2, "seconds": 900}
    assert event.content["after"] == {"steps": 3, "calls:world.look": 100}
    assert "Set the limits of a day" in text(admin, "/audit/")
    for change in (
        lambda: models.Installation.objects.update(budgets={}),
        lambda: models.DayBudget.objects.filter(number=2).update(limits={}),
        lambda: models.DayBudget.objects.filter(number=3).delete(),
        lambda: models.Account.objects.filter(agent__name=name, measure="steps").update(limit=50),
        lambda: models.Account.objects.filter(agent__name=name, measure="steps").update(spent=1),
    ):
        with unhindered():
            change()
            with pytest.raises(verifier.Broken):
                verifier.verify()


def test_everybody_together_and_the_last_days(who: factories.People, as_: As) -> None:
    """From 80 % on pages warn; yesterday stands in the history; the number of queries is fixed."""
    admin = as_(who.admin)
    assert put(admin, ALL, steps="5", cost_micro="2.5", reason="A small house.")[0] == 303
    run = go(factories.start(who.operator, *looks(2), budget={"steps": 5}))
    assert (run.status, run.steps) == ("succeeded", 4)
    page = text(admin, "/budgets/")
    assert "Nearly used up for today: Everybody together, 4 turns of 5 (80 %)." in page
    assert all(
        words in " ".join(page.split()) for words in ("<dd>4 <span>of 5</span></dd>", "1 left", "$2.50 left")
    )
    header = " ".join(text(as_(who.viewer), f"/runs/{run.pk}/").split())
    assert "1 left" in header
    account = models.Account.objects.get(measure="steps", day__isnull=False)
    assert account.day is not None
    yesterday = account.day - datetime.timedelta(days=1)
    models.Account.objects.create(day=yesterday, measure="steps", limit=9, spent=8)
    page = text(admin, ALL)
    assert "8 turns of 9" in page
    assert budgets_page.warnings(yesterday, who.viewer) == (
        "Nearly used up for today: Everybody together, 8 turns of 9 (88 %).",
    )
    elsewhere = models.Agent.objects.create(name="elsewhere")
    models.Account.objects.create(day=yesterday, measure="steps", limit=9, spent=9, agent=elsewhere)
    assert len(budgets_page.warnings(yesterday, who.viewer)) == 2
    models.Scope.objects.create(person=who.viewer, agent=run.agent_version.agent)
    limited = models.User.objects.get(pk=who.viewer.pk)  # to another agent: they read nothing of it
    assert len(budgets_page.warnings(yesterday, limited)) == 1
    before = queries(admin, "/budgets/"), queries(admin, ALL)
    for _ in range(3):
        factories.start(who.operator, *looks(1), per_day={"steps": 4, "calls": 9})
    assert (queries(admin, "/budgets/"), queries(admin, ALL)) == before
    assert max(before) <= 12
    waits = go(factories.start(who.operator, *looks(3), per_day={"steps": 1}))
    answer(asked(waits), who.operator, "raise", amount=2, reason="Month-end.")
    page = " ".join(text(admin, reverse("budget-everybody")).split())
    assert re.search("Raised for today by 2 turns, .* by operator-1: Month-end.", page)
