"""The tools page: what a tool declares in plain words, who uses it and how it fares; what turns on what is off."""

from __future__ import annotations

import pytest
from django.urls import reverse

from runs import models
from runs.transitions import team
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World
from tests.pages.conftest import As
from tests.pages.test_pages import queries, text

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_a_tool_declares_who_uses_it_and_how_it_fares(who: factories.People, as_: As) -> None:
    doubt = factories.in_doubt(who.operator, who.reviewer)
    failing = go(factories.start(who.operator, step("back", "mail")))
    World.absent = "the world <b>refused</b>"
    answer(only_review(failing), who.reviewer, "approve")
    models.Action.objects.update(not_before=None)
    go(failing)
    admin, viewer = as_(who.admin), as_(who.viewer)

    listed = text(viewer, reverse("tools"))
    for name in ("world.lookup", "email.send", "files.read_csv", "http.request"):
        assert reverse("tool", args=[name]) in listed
    assert "Name hosts under write in [http]." in listed
    assert reverse("tool", args=["world.back.undo"]) not in listed

    fee = text(viewer, reverse("tool", args=["ledger.post_late_fee"]))
    for words in (
        "leaves something for good, which only another action can balance",
        "ckptsite can look up whether it happened.",
        "Invoice no, Period",
        "Yes, as an action of its own at tier 3.",
        "What can&#x27;t be undone is released by somebody else",
        "No agent that you see may call it." if "receivables" not in listed else "receivables",
    ):
        assert words in fee, words
    assert "Pause it" not in fee
    switch = f"{reverse('switches')}?what=tool:ledger.post_late_fee#pause-what"
    assert switch in text(admin, reverse("tool", args=["ledger.post_late_fee"]))
    off = text(admin, reverse("tool", args=["http.request_once"]))
    assert "It is off. Name hosts that do one Idempotency-Key once" in off
    assert "How long it may be sent again" in off
    assert "Pause it" not in off
    assert viewer.get(reverse("tool", args=["no.such"])).status_code == 404

    unknown = models.Action.objects.get(run=doubt, status="in_doubt").tool
    asked = text(viewer, reverse("tool", args=[unknown]))
    assert "1 of its actions may or may not have happened." in asked
    failed = text(viewer, reverse("tool", args=["world.back"]))
    assert "the world &lt;b&gt;refused&lt;/b&gt;" in failed
    assert reverse("run", args=[failing.pk]) in failed
    for place in (reverse("tools"), reverse("tool", args=["world.back"])):
        assert queries(viewer, place) <= 13, place

    insider = factories.person("insider", "viewer")
    team.set_scope(f"user {insider.pk}", ["receivables"], by=Actor(user=who.admin))
    limited = as_(insider)
    for name in (unknown, "world.back", "http.request"):
        assert limited.get(reverse("tool", args=[name])).status_code == 404
    listed = text(limited, reverse("tools"))
    assert "world.back" not in listed
    assert "Accounts receivable" in text(limited, reverse("tool", args=["ledger.post_late_fee"]))
