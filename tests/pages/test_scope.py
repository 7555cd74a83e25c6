"""Who is limited to some agents or a project: nothing of the others is there for them, wherever they look."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from runs import models, seed
from runs.providers import declared
from runs.tools import registry
from runs.transitions import notices, starts, switches, team, tokens
from runs.transitions.actor import Actor
from runs.transitions.refusals import Invalid, NotYours
from tests import factories
from tests.engine.conftest import answer, go, only_review
from tests.engine.world import World
from tests.pages.conftest import As
from tests.pages.test_roles import ONLY_POST, SEEING, address, routes

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_outside_of_somebodys_scope_is_not_there_on_any_route(
    who: factories.People, house: factories.House, as_: As
) -> None:
    """All rights but an administrator's, and a limit to another project: nothing of the house is seen or done."""
    own = factories.held(who.operator, name="of their own", project="own")
    moved = factories.held(who.operator, name="moved", project="own").run
    insider = factories.person("insider", *(role for role in SEEING if role != "admin"))
    with pytest.raises(Invalid, match="isn't there"):
        team.set_scope(f"user {insider.pk}", ["project:none"], by=Actor(user=who.admin))
    team.set_scope(f"user {insider.pk}", ["project:own"], by=Actor(user=who.admin))
    client = Client()
    client.force_login(insider)
    assert _moved_away(client, moved) == ([200, 404], {"before": "own", "after": ""})
    found = {}
    for name in routes():
        if name.startswith(("run-", "review")) or name == "run":
            place = address(name, house)
            found[name] = (client.get(place).status_code, client.post(place, {"reason": "x"}).status_code)
    wanted = {name: (405 if name in ONLY_POST else 404, 404) for name in found}
    takes_no_post = {name for name, (_, post) in found.items() if post == 405}
    assert found == {
        name: (get, 405 if name in takes_no_post else post) for name, (get, post) in wanted.items()
    }
    assert len(found) > 30
    for place in ("/inbox/?tab=team", "/inbox/?tab=decided&earlier=1", "/runs/", "/effects/", "/effects/?as=json",
                  "/inbox/export.json?tab=team", "/runs/redrive/"):  # fmt: skip
        page = client.get(place).getvalue().decode()
        marks = [
            mark
            for run in house.runs
            for mark in (f"/runs/{run.pk}/", f'"run":{run.pk},', f'"run": {run.pk},')
        ]
        assert not [mark for mark in marks if mark in page], place
    assert client.get("/inbox/?tab=team").content.decode().count(f"/reviews/{own.pk}/") > 0
    for name in ("metrics", "audit", "budgets"):
        assert client.get(reverse(name)).status_code == 403, name
        assert name == "audit" or f'href="{reverse(name)}"' not in client.get("/runs/").content.decode()
    other = house.asked.agent_version.agent
    switches.throw(f"agent:{other.name}", True, by=Actor(user=who.admin), reason="Of no concern to them.")
    notices.spread()
    foreign = {tool.name.removesuffix(".undo") for tool in registry.all()} - set(own.run.agent_version.tools)
    for place in ("/switches/", "/notices/", "/policies/", "/effects/", "/inbox/"):
        page = client.get(place).content.decode()
        assert "Of no concern" not in page, place
        assert not [name for name in foreign if f'value="{name}"' in page], place
    assert "paused: Of no concern to them." in as_(who.viewer).get("/runs/").content.decode()
    switches.throw(f"agent:{other.name}", False, by=Actor(user=who.admin))
    asked = only_review(house.asked)
    with pytest.raises(NotYours, match="isn't for"):
        answer(asked, insider, "approve")
    with pytest.raises(Invalid, match="no agent"):
        starts.start_run(
            house.asked.agent_version.agent.name, input={}, title="x", by=Actor(user=insider), token="t1"
        )
    _, secret = tokens.create(name="t", kind="person", acts=["start", "decide", "stop"], days=7, form="f1",
                              by=Actor(user=insider))  # fmt: skip
    headers = {"Authorization": f"Bearer {secret}"}
    assert [one["id"] for one in Client().get("/api/v1/runs", headers=headers).json()["items"]] == [
        own.run_id
    ]
    assert Client().get(f"/api/v1/runs/{house.asked.pk}", headers=headers).status_code == 404
    assert Client().get(f"/api/v1/reviews/{asked.pk}", headers=headers).status_code == 404
    # Their approval counts only while the agent is in their scope.
    answer(own, insider, "approve")
    team.set_scope(f"user {insider.pk}", ["receivables"], by=Actor(user=who.admin))
    before = len(World.effects())
    go(own.run)
    assert len(World.effects()) == before


def _moved_away(client: Client, run: models.Run) -> tuple[list[int], object]:
    """Return what the run's page answers before and after its agent left its project, and what the trail says of it."""
    page, version = reverse("run", args=[run.pk]), run.agent_version
    before = client.get(page).status_code
    seed.register(
        declared.Agent(
            name=version.agent.name,
            title=version.agent.title,
            provider=version.provider,
            definition=version.definition,
            tools=tuple(version.tools),
            input_schema=version.input_schema,
        )
    )
    said = models.AuditEvent.objects.get(act="agent.moved").content
    return [before, client.get(page).status_code], said
