"""What is paused for everybody, as people see it: on its own page, and in one line on every other."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from runs import models
from tests import factories
from tests.engine.conftest import go, step
from tests.pages.conftest import As
from tests.pages.test_pages import text
from tests.pages.test_plan_editor import token_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_administrator_pauses_and_lifts_and_everybody_reads_it_on_every_page(
    who: factories.People, as_: As
) -> None:
    """Who, since when, why, and how many runs each holds; a switch that isn't there, and one without a reason, are
    refused with what was typed; nobody else can throw one."""
    run = factories.start(who.operator, step("lookup", "mail"))
    held = [go(factories.start(who.operator, step("lookup", name))) for name in ("a", "b")]
    client, place = as_(who.admin), reverse("switches")
    assert "Nothing is paused" in text(as_(who.viewer), place)

    def throw(client: Client = client, **given: str) -> int:
        token = token_of(text(client, place))
        return client.post(place, {**given, **token}).status_code

    agent = f"agent:{run.agent_version.agent.name}"
    beside = text(
        client, reverse("run", args=[run.pk])
    )  # where one looks for it, the agent is chosen already
    assert f'href="{place}?what={agent}#pause-what"' in beside
    assert f'<option value="{agent}" selected>' in text(client, f"{place}?what={agent}")
    review = models.Review.objects.get(run=held[0])
    assert f"{place}?what=tool:world.lookup#pause-what" in text(client, reverse("review", args=[review.pk]))

    assert throw(what=agent, on="1", reason="Wrong letters.") == 303
    assert throw(what="tool:world.lookup", on="1", reason="<b>Broken</b>.") == 303
    sentence = "All runs of “Test agent”, the tool “world.lookup” are paused."
    for reader in (who.viewer, who.operator):
        page = text(as_(reader), place)
        assert page.count("by admin-1") + page.count(">admin-1<") == 2
        assert "Wrong letters." in page
        assert "&lt;b&gt;Broken&lt;/b&gt;." in page
        assert ">1 run<" in page  # of the agent
        assert ">2 runs<" in page  # that have an open call of the tool
        assert "Let it go on" not in page
        for name in ("inbox", "runs", "effects", "metrics", "policies", "settings"):
            assert sentence in text(as_(reader), reverse(name))
    other = as_(who.operator)
    assert throw(other, what="all", on="1", reason="x") == 403

    for given in ({"what": "everything"}, {"what": "tool:nothing"}, {"what": "all", "reason": " "}):
        answer = client.post(place, {"on": "1", "reason": "Kept.", **given, **token_of(text(client, place))})
        assert answer.status_code == 422
        assert given.get("reason", "Kept.") in answer.content.decode()
    assert models.Refusal.objects.filter(act="switch.throw").count() == 3
    assert throw(what=agent) == 303
    assert throw(what="tool:world.lookup") == 303
    assert throw(what="all", on="1", reason="Fire.") == 303
    assert "Everything is paused: Fire." in text(as_(who.viewer), reverse("runs"))
    assert ">3 runs<" in text(client, place)
    assert set(models.Installation.objects.get(pk=1).switches) == {"all"}
