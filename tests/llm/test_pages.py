"""The pages of a run that a model drives: its words, its plan, what it was told, what it costs."""

from __future__ import annotations

import pytest
from django.test import Client

from runs import models
from tests.engine.conftest import only_review
from tests.llm.conftest import Start, go, plan
from tests.llm.wire import Say, Server

pytestmark = pytest.mark.django_db(transaction=True)


def test_its_pages_say_what_it_did(
    server: Server, start: Start, reviewer: models.User, operator: models.User
) -> None:
    """Each page of the run and its review is there, and shows what only a model's run has."""
    server.will(
        Say(text="Let me think."),
        Say(text="One thing is to be done.", calls=(plan("act"),)),
        Say(text="I do it.", calls=(("world_unprotected", {"name": "it", "plan_step": "act"}),)),
    )
    run = go(start(approve_plan=False))
    review = only_review(run)
    client = Client()
    client.force_login(operator)

    def page(path: str) -> str:
        answer = client.get(path, follow=True)
        assert answer.status_code == 200, path
        return answer.content.decode()

    at = f"/runs/{run.pk}/"
    assert "One thing is to be done." in page(f"{at}transcript/")
    assert "could not be used" in page(f"{at}transcript/")
    assert "claude-sonnet-5-5" in page(f"{at}usage/")
    assert "Do act" in page(at)
    assert "Do act" in page(f"{at}plan/")
    assert "Do act" in page(f"{at}plan/edit/")
    for one in ("checkpoints/", "checkpoints/2/", "checkpoints/2/state/", "effects/", "redrive/?at=2"):
        page(f"{at}{one}")
    client.force_login(reviewer)
    assert "I do it." in page(f"/reviews/{review.pk}/")
