"""Changing a plan in its editor, and approving one: nothing typed is lost, one sentence says what is wrong."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from runs import models
from runs.transitions import holds
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import go, only_review, step
from tests.pages.conftest import As
from tests.pages.test_decisions import fields
from tests.pages.test_pages import text

pytestmark = pytest.mark.django_db(transaction=True)


def shown(page: str) -> list[dict[str, Any]]:
    """Return the steps that stand in the form."""
    found = re.search(r'<textarea[^>]*name="steps"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    assert found is not None
    steps: list[dict[str, Any]] = json.loads(html.unescape(found[1]))
    return steps


def token_of(page: str) -> dict[str, str]:
    """Return the form token that any form of this person's pages carries."""
    return {"csrfmiddlewaretoken": fields(page, form=reverse("logout"))["csrfmiddlewaretoken"]}


def post(client: Client, run: models.Run, steps: object, **more: str) -> Any:
    page = text(client, reverse("run-plan-edit", args=[run.pk]))
    given = {"base": "1", "reason": "Wrong customer.", **token_of(page)}
    sent = steps if isinstance(steps, str) else json.dumps(steps)
    return client.post(reverse("run-plan-edit", args=[run.pk]), {**given, "steps": sent, **more})


def change(client: Client, run: models.Run, page: str, do: str, **more: str) -> Any:
    """Press one of the editor's buttons, with everything else of the form as it stands."""
    sent = {"base": "1", "steps": json.dumps(shown(page)), "reason": "Wrong customer.", **token_of(page)}
    opened = re.search(r'name="opened" value="([^"]*)"', page)
    sent |= {"opened": opened[1]} if opened else {}
    return client.post(reverse("run-plan-edit", args=[run.pk]), {**sent, "do": do, **more})


def test_the_editor_without_scripts(who: factories.People, as_: As) -> None:
    """Move, gate, insert, fill in, take out, save: every button is a plain POST; only one saves."""
    run = go(
        factories.start(
            who.operator, step("lookup", "m\u00e4il\u202e"), step("allowed", "next"), step("look", "x")
        )
    )
    client, address = as_(who.operator), reverse("run-plan-edit", args=[run.pk])
    page = text(client, address)
    assert "m\u00e4il\\u202e" in page  # what can't be seen stands as its code
    assert "No model is called" in page
    assert "1 by their tier" in page
    assert "Nothing differs" in page
    assert re.findall(r'value="(up|down):(\w+)"[^>]* disabled', page) == [("up", "lookup"), ("down", "end")]
    page = change(client, run, page, "up:allowed").content.decode()
    assert re.findall(r"#arrow-(\w+)\"/></svg>Moved", page) == ["up", "up"]  # in the list and in the row
    assert [one["id"] for one in shown(page)] == ["allowed", "lookup", "look", "end"]
    assert "1 moved" in page
    assert "no longer counts once this is saved" in page  # it was asked about with nothing before it
    taken_back = re.search(r"Saving takes back.*?</ul>", page, re.DOTALL)
    assert taken_back is not None
    assert re.findall(r"<li[^>]*>([^<]*)", taken_back[0]) == ["Do m\u00e4il"]  # then the sign that isn't seen
    page = change(client, run, page, "gate:allowed").content.decode()
    assert "Somebody is asked before this step" in page
    page = change(client, run, page, "insert:allowed").content.decode()
    fields = {"s-title": "Look twice", "s-tool": "world.look", "s-with": "[1]", "s-required-shown": "1"}
    again = change(client, run, page, "apply", **fields)
    assert again.status_code == 422
    assert "The arguments are an object" in again.content.decode()
    assert 'value="Look twice"' in again.content.decode()
    page = change(
        client, run, again.content.decode(), "apply", **fields | {"s-with": '{"name": "y"}'}
    ).content.decode()
    assert shown(page)[1] == {
        "id": "added-1-1",
        "title": "Look twice",
        "body": {"tool": "world.look", "with": {"name": "y"}, "required": False},
    }
    page = change(client, run, page, "remove:look").content.decode()
    page = change(client, run, page, "order", order="end\nlookup\nallowed\nadded-1-1").content.decode()
    assert "The run ends with \u201cEnd\u201d, so this is never done" in page
    refused = change(client, run, page, "save")
    assert (refused.status_code, "never done" in refused.content.decode()) == (422, True)
    page = change(client, run, page, "order", order="allowed\nadded-1-1\nlookup\nend").content.decode()
    assert models.Plan.objects.filter(run=run).count() == 1
    response = change(client, run, page, "save")
    assert (response.status_code, response.headers["Location"]) == (303, reverse("run-plan", args=[run.pk]))
    assert "The plan has changed" in text(
        client, reverse("run-plan", args=[run.pk])
    )  # its question still stands
    go(run)
    page = text(client, reverse("run-plan", args=[run.pk]))
    assert "The plan has changed" not in page
    assert "Version 2 by operator-1" in page
    assert "operator-1 wants to be asked first" in page
    assert "Wrong customer." in text(client, reverse("run", args=[run.pk]))
    versions = text(client, reverse("run-plan-versions", args=[run.pk]))
    for words in (
        "Wrong customer.",
        "1 added, 1 removed, 1 moved, 1 changed",
        "From place 2 to place 1.",
        "approval gate",
    ):
        assert words in versions
    assert "Nothing differs" in text(client, reverse("run-plan-versions", args=[run.pk]) + "?old=2&new=2")
    differs = text(client, f"{reverse('run-diff', args=[run.pk])}?a=2&b={run.checkpoint_number}")
    assert re.findall("Moved (from .*)<", differs) == ["from place 2 to place 1"]


@pytest.mark.parametrize(
    ("steps", "more", "status", "sentence"),
    [
        ("[{", {}, 422, "This is not JSON"),
        ("{}", {}, 422, "A plan is a list of steps."),
        ("[1]", {"do": "up:x"}, 422, "Step 1 needs an id."),
        (r'[{"id": "\ud800", "title": "", "body": {}}]', {}, 422, "Step 1 needs an id of at most"),
        (
            r'[{"id": "a", "title": "", "body": {"note": "\ud800"}}]',
            {"do": "edit:a"},
            422,
            "the note holds NUL",
        ),
        ("[]", {"reason": " "}, 422, "Say why the plan changes"),
        ("[]", {"base": "7"}, 409, "you changed version 7"),
        ("[]", {"base": "x"}, 409, "The plan has version 1 by now"),
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_is_kept(
    who: factories.People, as_: As, steps: str, more: dict[str, str], status: int, sentence: str
) -> None:
    run = go(factories.start(who.operator, step("lookup", "mail")))
    response = post(as_(who.operator), run, steps, **more)
    page = response.content.decode()
    assert response.status_code == status
    assert sentence in page
    assert f">\n{html.escape(steps)}</textarea>" in page
    assert models.Plan.objects.filter(run=run).count() == 1


def test_somebody_else_was_faster(who: factories.People, as_: As) -> None:
    """409 shows what the other changed; one button puts the own changes on top of it."""
    run = go(
        factories.start(who.operator, step("lookup", "mail"), step("allowed", "next"), step("look", "last"))
    )
    client = as_(who.operator)
    page = text(client, reverse("run-plan-edit", args=[run.pk]))
    mine = change(client, run, page, "up:look").content.decode()
    theirs = shown(page)
    theirs[1]["title"] = "Their words"
    assert post(as_(who.admin), run, theirs, reason="Theirs.").status_code == 303
    go(run)
    response = change(client, run, mine, "save")
    page = response.content.decode()
    assert response.status_code == 409
    assert "The plan has version 2 by now; you changed version 1." in page
    assert "Their words" in page
    assert "Wrong customer." in page
    assert [one["id"] for one in shown(page)] == ["lookup", "look", "allowed", "end"]
    page = change(client, run, page, "rebase").content.decode()
    assert [one["title"] for one in shown(page)] == ["Do mail", "Do last", "Their words", "End"]
    assert change(client, run, page, "save", base="2").status_code == 303


def test_a_run_that_goes_on_again_keeps_the_draft(who: factories.People, as_: As) -> None:
    run = go(factories.start(who.operator, step("lookup", "mail")))
    client = as_(who.operator)
    models.Run.objects.filter(pk=run.pk).update(status="queued", wake_at=run.created_at, reason="decision")
    assert "Pause it to change its plan." in text(client, reverse("run-plan-edit", args=[run.pk]))
    response = client.post(
        reverse("run-plan-edit", args=[run.pk]),
        {"base": "1", "reason": "Mine.", "steps": "[]", **token_of(text(client, reverse("inbox")))},
    )
    page = response.content.decode()
    assert response.status_code == 409
    assert "pause it, then save the plan" in page
    assert "What you changed is kept below" in page


def test_only_who_may_change_plans_gets_the_editor(who: factories.People, as_: As) -> None:
    run = go(factories.start(who.operator, step("lookup", "mail")))
    address, editor = reverse("run-plan", args=[run.pk]), reverse("run-plan-edit", args=[run.pk])
    for person in (who.viewer, who.reviewer, who.auditor):
        assert editor not in text(as_(person), address)
        assert as_(person).get(editor).status_code == 403
    client = as_(who.operator)
    assert editor in text(client, address)
    holds.stop(run.pk, reason="x", by=Actor(user=who.operator))
    assert 'name="steps"' not in text(client, editor)


def test_a_plan_is_read_and_approved_on_its_page(who: factories.People, as_: As) -> None:
    run = go(
        factories.start(who.operator, step("lookup", "mail"), step("allowed", "next"), approve_plan=True)
    )
    review = only_review(run)
    client = as_(who.reviewer)
    address = reverse("review", args=[review.pk])
    page = text(client, address)
    assert "Approve the plan: 3 steps" in page
    assert "Do mail" in page
    assert "Do next" in page
    assert "This approves no single action" in page
    sent = fields(page, form='value="approve"') | {"verdict": "approve"}
    assert client.post(address, sent).status_code == 303
    run = go(run)
    assert run.approved_plan == 1
    assert "Approved the plan, version 1" in text(client, reverse("run", args=[run.pk]))
    assert "approved this" in text(client, address)


def test_a_change_of_what_a_run_uses_is_said_and_answered_on_its_page(who: factories.People, as_: As) -> None:
    from unittest import mock

    from tests.engine.conftest import answer
    from tests.engine.world import Lookup, World

    run = go(factories.start(who.operator, step("lookup", "mail")))
    answer(only_review(run), who.reviewer, "approve")
    with mock.patch.object(Lookup, "version", 2):
        run = go(run)
        review = only_review(run)
        client = as_(who.operator)
        assert "What it started with has changed" in text(client, reverse("run", args=[run.pk]))
        address = reverse("review", args=[review.pk])
        page = text(client, address)
        assert "world.lookup: its version was 1 and is 2 now." in page
        assert 'value="retry"' not in page
        sent = fields(page, form='value="go_on"') | {"verdict": "go_on"}
        response = client.post(address, sent)
        assert (response.status_code, "Give a reason" in response.content.decode()) == (422, True)
        assert client.post(address, {**sent, "reason": "Reviewed the release."}).status_code == 303
        run = go(run)
        assert (only_review(run).kind, World.effects()) == ("action", [])
        assert "Let it go on with what is installed now" in text(client, reverse("run", args=[run.pk]))
