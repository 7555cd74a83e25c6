"""What the pages of a run say about it: what could not be used, who did what, how far it came, what it used."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from runs import models
from runs.transitions import branches, holds, redrives, switches
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import go, step
from tests.pages.conftest import As
from tests.pages.test_pages import RUN_PAGES, text
from tests.pages.test_plan_editor import token_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_rows_that_could_not_be_used_are_said_while_it_matters(who: factories.People, as_: As) -> None:
    run = go(factories.demo_run(who.operator))
    client = as_(who.reviewer)
    page = text(client, reverse("run", args=[run.pk]))
    found = re.search(r'href="[^"#]*#e(\d+)">6 rows could not be used</a>', page)
    assert found
    line = page.index(f'id="e{found[1]}"')
    assert "tone-ask" in page[line - 60 : line]
    assert page.rindex("<details", 0, line) <= page.rindex("</details>", 0, line)  # not folded away
    for name in RUN_PAGES:
        assert "6 rows could not be used</a>" in text(client, reverse(name, args=[run.pk]))
    holds.stop(run.pk, reason="x", by=Actor(user=who.operator))
    go(run)
    assert "could not be used</a>" not in text(client, reverse("run", args=[run.pk]))


def test_the_log_names_people_as_the_header_does(who: factories.People, as_: As) -> None:
    who.operator.first_name, who.operator.last_name = "Ola", "Perez"
    who.operator.save()
    run = go(factories.start(who.operator, step("lookup", "mail")))
    holds.pause(run.pk, reason="Lunch.", by=Actor(user=who.operator))
    holds.resume(run.pk, by=Actor(user=who.operator))
    go(run)
    page = text(as_(who.viewer), reverse("run", args=[run.pk]))
    assert page.count('<p class="faint">Ola Perez</p>') >= 2
    assert '<p class="faint">operator-1</p>' not in page
    assert '<p class="faint">You</p>' in text(as_(who.operator), reverse("run", args=[run.pk]))


def test_a_stopped_run_claims_no_progress(who: factories.People, as_: As) -> None:
    run = go(
        factories.start(who.operator, step("look", "it"), *(step("lookup", f"mail {n}", id=n) for n in "ab"))
    )
    holds.stop(run.pk, reason="x", by=Actor(user=who.operator))
    go(run)
    client = as_(who.viewer)
    states = list(models.PlanStep.objects.filter(run=run).order_by("order").values_list("state", flat=True))
    refused = states.count("refused")
    assert states[0] == "done"
    assert refused
    page = text(client, reverse("run", args=[run.pk]))
    assert f"<dd>1 <span>done, {refused} not done of {len(states)}</span></dd>" in page
    assert "Not done</span>" in page
    assert "Replaced" not in page
    assert f'1 of {len(states)}<div class="faint">{refused} not done</div>' in text(client, reverse("runs"))


def test_usage_counts_turns_where_there_is_no_model(who: factories.People, as_: As) -> None:
    run = go(factories.start(who.operator, step("look", "it")))
    page = text(as_(who.viewer), reverse("run-usage", args=[run.pk]))
    assert "<caption>Turns</caption>" in page
    assert 'data-label="Turns">' in page
    assert "Model calls" not in page


def test_the_administration_speaks_english(who: factories.People, as_: As) -> None:
    page = text(as_(who.admin), reverse("admin:index"))
    assert "Entries" in page
    assert "Policies" in page
    for odd in ("Entrys", "Policys", "Evidences"):
        assert odd not in page


def test_the_pages_of_attempts_say_what_they_are_and_what_they_wait_for(
    who: factories.People, as_: As
) -> None:
    by, client = Actor(user=who.operator), as_(who.viewer)
    old = go(factories.start(who.operator, step("look", "it"), step("lookup", "mail")))
    number = models.Checkpoint.objects.get(run=old, boundary="result").number or 0
    new = redrives.redrive(old.pk, checkpoint=number, reason="x", by=by, token="redrive")
    dry = go(branches.fork(old.pk, checkpoint=number, reason="x", by=by, token="fork"))
    waits = f"Starts as soon as run {old.pk}, whose place it takes, has ended."
    assert waits in text(client, reverse("run", args=[new.pk]))
    go(old)
    assert go(new).status == "waiting"
    for run in (old, new, dry):
        for name in RUN_PAGES:
            page = text(client, reverse(name, args=[run.pk]))
            assert waits not in page
            assert ("Dry run: nothing goes out" in page) == (run == dry)
    review = models.Review.objects.get(run=new)
    assert "Will do mail." in text(client, reverse("review", args=[review.pk]))


def test_a_run_page_names_what_is_switched_off(who: factories.People, as_: As) -> None:
    """Everything, its agent, a tool of its agent; nothing of another agent's, and nothing once it has ended."""
    who.admin.first_name, who.admin.last_name = "Ada", "Lane"
    who.admin.save()
    admin, client = Actor(user=who.admin), as_(who.viewer)
    run = go(factories.start(who.operator, step("lookup", "mail")))
    other = factories.start(who.operator, step("lookup", "mail"))
    switches.pause_tool("world.lookup", True, by=admin, reason="Wrong letterhead.")
    switches.pause_agent(other.agent_version.agent.name, True, by=admin, reason="Test.")
    page = text(client, reverse("run", args=[run.pk]))
    assert "“world.lookup” is paused by Ada Lane since" in page
    assert ": Wrong letterhead." in page
    assert "All runs of this agent" not in page
    page = text(client, reverse("run", args=[other.pk]))
    assert "All runs of this agent are paused by Ada Lane" in page
    assert "paused together with others by an administrator" in page
    assert "paused together with others" in text(client, reverse("runs"))
    switches.pause_all(True, by=admin, reason="Test.")
    assert "All runs are paused by Ada Lane" in text(client, reverse("run", args=[run.pk]))


def test_a_stopped_run_says_what_it_waits_for(who: factories.People, as_: As) -> None:
    run = factories.in_doubt(who.operator, who.reviewer)
    holds.stop(run.pk, reason="Enough.", by=Actor(user=who.operator))
    go(run)
    page = text(as_(who.viewer), reverse("run", args=[run.pk]))
    assert "asked it to stop. It can&#x27;t end before it is known what happened." in page
    assert "Did this happen? Will do parcel." in page


def test_going_on_from_a_checkpoint_on_its_page(who: factories.People, as_: As) -> None:
    old = go(factories.start(who.operator, step("allowed", "mail")))
    client, address = as_(who.operator), reverse("run-redrive", args=[old.pk])
    assert client.get(address + "?checkpoint=1").status_code == 200
    assert as_(who.viewer).get(address).status_code == 403
    page = text(client, address + "?checkpoint=1")
    assert "May happen once more" in page
    sent = {"checkpoint": "1", "seen": str(old.pk), "token": "redrive-1", **token_of(page)}
    again = client.post(address, sent | {"reason": " "})
    assert again.status_code == 422
    assert "Say why it goes on from there" in again.content.decode()
    made = client.post(address, sent | {"reason": "Try again", "verb": "redrive"})
    new = models.Run.objects.exclude(pk=old.pk).get()
    assert (made.status_code, made["Location"]) == (303, reverse("run", args=[new.pk]))
    late = client.post(address, sent | {"reason": "Me too", "token": "redrive-2"})
    assert (late.status_code, "Me too" in late.content.decode()) == (409, True)
    tried = sent | {"reason": "See", "verb": "try_out", "token": "fork-1", "seen": str(new.pk)}
    assert client.post(address, tried).status_code == 303
    assert models.Run.objects.filter(mode="dry_run").count() == 1
    assert go(new).status == "succeeded"
