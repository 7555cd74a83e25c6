"""Going on from a checkpoint on its page: why it failed, what runs again, what is corrected, and what stays done."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from runs import models, seed
from runs.engine import verifier
from runs.providers import declared
from runs.tools import contract
from runs.transitions import holds, starts
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import go, only_review, step
from tests.engine.world import Look, World
from tests.pages.conftest import As
from tests.pages.test_pages import queries, text
from tests.pages.test_plan_editor import change
from tests.rules.branching import through

pytestmark = pytest.mark.django_db(transaction=True)


def hidden(page: str, action: str) -> dict[str, str]:
    """Return the hidden fields of the last form of the page that posts to `action`."""
    form = re.findall(rf'<form[^>]*action="{re.escape(action)}"[^>]*>(.*?)</form>', page, re.DOTALL)[-1]
    pairs = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form)
    return {name: html.unescape(value) for name, value in pairs}


def send(client: Client, run: models.Run, page: str, **more: str) -> Any:
    address = reverse("run-redrive", args=[run.pk])
    given = {"verb": "redrive", "reason": "It went wrong.", **hidden(page, address)}
    return client.post(address, given | more)


def failed_after_a_letter(who: factories.People) -> models.Run:
    Look.failures = [contract.DidNotHappen("The file is not there.")]
    run = through(
        factories.start(
            who.operator, step("lookup", "letter"), step("look", "file"), step("allowed", "note")
        ),
        who.reviewer,
    )
    Look.failures = []
    assert run.status == "failed"
    return run


def test_a_failed_run_goes_on_with_another_plan_and_nobody_gets_a_second_letter(
    who: factories.People, as_: As
) -> None:
    run = failed_after_a_letter(who)
    client, address = as_(who.operator), reverse("run-redrive", args=[run.pk])
    page = text(client, address)
    for words in ("The file is not there.", "Step 2: Do file", "Last good: before the step that failed",
                  "1 done before and not run again", "3 run again", "No model is called", "Try again as it is",
                  "More turns"):  # fmt: skip
        assert words in page
    early = text(client, f"{address}?checkpoint=1")
    assert "1 proposed again and answered with what was done" in early
    assert "Stays done" in early
    more = {"plan": "1", "raise.steps": "x"}
    refused = send(client, run, page, **more)
    assert (refused.status_code, "a whole number of 1 or more" in refused.content.decode()) == (422, True)
    limit = models.Account.objects.get(root=run.root_id, measure="steps").limit
    assert send(client, run, early, plan="1").status_code == 422  # there is none yet
    early = text(client, f"{address}?checkpoint=2")
    made = send(client, run, early, **more | {"raise.steps": "7"})
    new = models.Run.objects.exclude(pk=run.pk).get()
    editor = reverse("run-plan-edit", args=[new.pk])
    assert (made.status_code, made["Location"]) == (303, editor)
    assert models.Account.objects.get(root=run.root_id, measure="steps").limit == limit + 7
    assert "It comes to rest in a moment" in text(client, editor)
    assert go(new).status == "paused"
    page = text(client, editor)
    plan = change(client, new, page, "remove:look", base=str(new.plan_version), reason="Not needed.")
    saved = change(
        client, new, plan.content.decode(), "save", base=str(new.plan_version), reason="Not needed."
    )
    assert saved.status_code == 303
    holds.resume(new.pk, by=Actor(user=who.operator))
    assert go(new).status == "succeeded"
    assert [line["name"] for line in World.effects()] == ["letter", "note"]
    verifier.verify()


def test_what_is_open_at_the_checkpoint_is_corrected_and_so_are_the_instructions(
    who: factories.People, as_: As
) -> None:
    """Other instructions are a version of their own; the agent's current one stays."""
    calls = [{"calls": [{"tool": "world.lookup", "arguments": {"name": "wrong"}}]}]
    seed.register(
        declared.Agent(
            name="told", title="Told", provider="replay", definition={"replies": calls}, tools=("world.lookup",),
            instructions="Be quick.", input_schema={"type": "object", "properties": {}},
        )
    )  # fmt: skip
    run = go(starts.start_run("told", input={}, title="x", by=Actor(user=who.operator), token="told"))
    client, address = as_(who.operator), reverse("run-redrive", args=[run.pk])
    page = text(client, f"{address}?checkpoint={run.checkpoint_number}")
    name = (re.search(r'name="(call\.\d+-\d+)"', page) or ["", ""])[1]
    assert "Be quick." in page
    bad = send(client, run, page, **{name: "{", "instructions": "Be careful."})
    assert (bad.status_code, "This is not JSON" in bad.content.decode()) == (422, True)
    assert "Be careful." in bad.content.decode()
    unsaid = send(client, run, page, reason=" ")
    assert (unsaid.status_code, models.Run.objects.count()) == (422, 1)
    for words in ('href="#redrive-reason"', 'aria-invalid="true" aria-describedby="redrive-reason-error"'):
        assert words in unsaid.content.decode()
    tried = send(client, run, page, verb="try_out", reason="", instructions="Be careful.", token="fork")
    dry = models.Run.objects.get(mode="dry_run")
    assert (tried.status_code, dry.agent_version.instructions) == (303, "Be careful.")
    said = f"Run {dry.pk} tries it out from checkpoint {run.checkpoint_number}; nothing goes out."
    assert said in text(client, reverse("run", args=[dry.pk]))
    assert send(client, run, page, verb="try_out", plan="1").status_code == 422
    assert f'name="{name}.name" value="wrong"' in page  # a text is typed as it is, the rest as JSON
    more = {name: json.dumps({"name": "wrong", "amount": "1.00"}), f"{name}.name": "right\r\nhere"}
    assert send(client, run, page, **more, instructions="Be careful.").status_code == 303
    old, new = models.Run.objects.filter(mode="live").order_by("pk")
    go(old)
    go(new)
    place, other = (reverse("run", args=[one.pk]) for one in (old, new))
    assert f'<a href="{place}">A later attempt of run {old.pk}</a>' in text(client, other)
    assert f'<a href="{other}">A later attempt, run {new.pk}, took over</a>' in text(client, place)
    listed = text(client, reverse("runs"))
    assert f">run {new.pk} ·" in listed
    assert f"attempt 2 of run {old.pk}" in listed
    assert f'replaced by <a href="{other}">run {new.pk}</a>' in listed
    action = only_review(new).action
    assert action is not None
    assert (action.arguments()["name"], action.arguments()["amount"]) == ("right\nhere", "1.00")
    version = new.agent_version
    assert (version.number, version.instructions, version.created_by) == (2, "Be careful.", who.operator)
    assert version.agent.current == old.agent_version
    first = models.Entry.objects.filter(run=new).order_by("position")[0]
    assert first.content["instructions"]["version"] == 2
    assert "With other instructions, as version 2 of the agent." in text(
        client, reverse("run", args=[new.pk])
    )
    verifier.verify()


def test_a_passing_fault_is_tried_again_by_one_button(who: factories.People, as_: As) -> None:
    run = factories.failed(who.operator)
    client, place = as_(who.operator), reverse("run-retry", args=[run.pk])
    page = text(client, reverse("run", args=[run.pk]))
    sent = hidden(page, place)
    assert place not in text(as_(who.reviewer), reverse("run", args=[run.pk]))
    other = factories.failed(who.operator)
    assert client.post(reverse("run-retry", args=[other.pk]), sent).status_code == 404
    assert client.post(place, sent).status_code == 303
    assert client.post(place, sent).status_code == 303  # a double click
    assert models.Decision.objects.get().reason == "Tried again as it is."
    assert go(run).status == "succeeded"
    assert client.post(place, sent | {"token": "another"}).status_code == 409


def test_all_failed_runs_of_one_cause_go_on_with_one_form(who: factories.People, as_: As) -> None:
    """One lineage each; what needs a person first is left out; the same form sent again makes nothing new."""
    runs = [factories.failed(who.operator) for _ in range(2)]
    letter = failed_after_a_letter(who)
    doubtful = factories.failed(who.operator)
    occurrence = models.Occurrence.objects.get(root=letter.root_id)
    models.Occurrence.objects.filter(pk=occurrence.pk).update(root=doubtful.pk, state="unknown")
    client = as_(who.operator)
    page = text(client, reverse("runs") + "?only=failed")
    found = re.search(r'href="\?(only=failed&amp;cause=\w+)">“…” failed: The file is not there', page)
    assert found is not None
    page = text(client, reverse("runs") + "?" + html.unescape(found[1]))
    assert "Go on with all of this cause" in page
    assert "Go on with all of this cause" not in text(
        as_(who.viewer), reverse("runs") + "?" + html.unescape(found[1])
    )
    address = reverse("runs-redrive")
    assert "Choose a cause" in text(client, address)
    page = text(client, f"{address}?{html.unescape(found[1])}")
    assert "somebody has to find that out first" in page
    assert f'name="run" value="{doubtful.pk}"' not in page
    place = f"{address}?{html.unescape(found[1])}"
    before = queries(client, place)
    factories.failed(who.operator)
    assert queries(client, place) == before
    assert before <= 12
    sent: dict[str, Any] = hidden(page, address)
    going_on = factories.held(who.operator).run  # by now somebody has had it tried again
    sent["run"] = [str(run.pk) for run in (*runs, letter, going_on)]
    sent |= {f"checkpoint.{going_on.pk}": "1", f"token.{going_on.pk}": "going-on"}
    refused = client.post(address, sent | {"reason": " "})
    assert (refused.status_code, "Say why" in refused.content.decode()) == (422, True)
    many = models.Run.objects.count()
    holds_up = {"reason": "The file is there now.", f"checkpoint.{letter.pk}": "99"}
    report = client.post(address, sent | holds_up).content.decode()
    assert "2 of 4 go on" in report
    assert "isn&#x27;t failed any more" in report
    assert f"Run {letter.pk} has no checkpoint 99" in report
    assert models.Run.objects.count() == many + 2
    assert "2 of 4 go on" in client.post(address, sent | holds_up).content.decode()  # the same form again
    assert models.Run.objects.count() == many + 2
    for run in runs:
        run.refresh_from_db()
        assert run.superseded_by is not None
        assert go(run.superseded_by).status == "succeeded"


def test_causes_are_the_same_but_for_what_is_particular() -> None:
    from runs import causes

    assert causes.normalised(
        "“Send to Ann” failed: 503 from https://x.example/a?b=1 for ann@example.com"
    ) == ("“…” failed: # from … for …")
    assert causes.key("Row 17 of /srv/a.csv") == causes.key("Row 4 of /srv/other.csv")
    assert causes.key("refused") != causes.key("timed out")
