"""Runs that hand work over: their tree on the pages and in the API, and who sees what of it."""

from __future__ import annotations

import pytest

from runs import models
from runs.tools import handing
from runs.transitions import starts, team
from runs.transitions.actor import Actor
from tests import factories
from tests.api.conftest import Give, give
from tests.engine.conftest import go, step
from tests.pages.conftest import As
from tests.rules.handing import agent, child_of, hands

__all__ = ["give"]
pytestmark = pytest.mark.django_db(transaction=True)


def handed(who: factories.People, *, project: str = "") -> list[models.Run]:
    """Return a run that waits for another one, that one, and the one that it handed work to, which asks a person."""
    inner = agent(step("unprotected"))
    middle = agent(hands(inner, "invoice 7"), tools=(handing.PREFIX + inner,), project=project)
    outer = agent(hands(middle, "november"), tools=(handing.PREFIX + middle,), project=project)
    run = go(
        starts.start_run(
            outer,
            input={"what": "it"},
            title="All letters",
            by=Actor(user=who.operator),
            token="all-the-letters",
        )
    )
    child = go(child_of(run))
    return [run, child, go(child_of(child))]


def test_the_tree_stands_on_the_page_of_each_and_tells_who_asks(who: factories.People, as_: As) -> None:
    """A line for each lineage, with its way up; what is not in somebody's scope isn't there."""
    runs = handed(who, project="own")
    for run in runs:
        page = as_(who.operator).get(f"/runs/{run.pk}/").context["page"].header
        assert [(one.run_id, one.depth, one.asked, one.this) for one in page.family] == [
            (other.pk, depth, int(depth == 2), other == run) for depth, other in enumerate(runs)
        ]
        assert page.parent == run.parent_id
    assert [one.status for one in page.family] == ["handed", "handed", "waiting"]
    assert (
        "Waits for the result of what it handed over." in as_(who.operator).get(f"/runs/{runs[0].pk}/").text
    )

    review = models.Review.objects.get(run=runs[2])
    assert [row.parent for row in as_(who.reviewer).get("/inbox/").context["page"].rows] == [runs[1].title]
    asked = as_(who.operator).get(f"/reviews/{review.pk}/")
    assert (asked.context["page"].parent, asked.context["page"].parent_title) == (runs[1].pk, runs[1].title)
    assert f'href="/runs/{runs[1].pk}/"' in asked.text

    insider = factories.person("insider", "operator")
    team.set_scope(f"user {insider.pk}", ["project:own"], by=Actor(user=who.admin))
    page = as_(insider).get(f"/runs/{runs[1].pk}/").context["page"].header
    assert [one.run_id for one in page.family] == [runs[0].pk, runs[1].pk]
    assert as_(insider).get(f"/runs/{runs[2].pk}/").status_code == 404

    outsider = factories.person("outsider", "reviewer")
    team.set_scope(f"user {outsider.pk}", [runs[2].agent_version.agent.name], by=Actor(user=who.admin))
    asked = as_(outsider).get(f"/reviews/{review.pk}/")
    assert asked.context["page"].parent is None
    assert runs[1].title not in asked.text
    assert runs[1].title not in as_(outsider).get("/inbox/").text


def test_the_api_names_parent_and_children(who: factories.People, give: Give) -> None:
    """As numbers, from both sides; what was given back is still named."""
    run, child, grandchild = handed(who)
    program = give(who.operator)
    found = [program.get(f"runs/{one.pk}").json() for one in (run, child, grandchild)]
    assert [(one["parent"], one["children"]) for one in found] == [
        (None, [child.pk]),
        (run.pk, [grandchild.pk]),
        (child.pk, []),
    ]
