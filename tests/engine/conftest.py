"""People, agents and a world for engine tests. Everything commits for real."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group

from runs import models, seed
from runs.engine import advance
from runs.providers import declared
from runs.transitions import decisions, starts
from runs.transitions.actor import Actor
from tests.engine import world

_tokens = itertools.count()


@pytest.fixture(autouse=True)
def fresh_world(tmp_path: Path) -> None:
    """Each test has a world of its own."""
    world.World.reset(tmp_path / "world.jsonl")
    world.Look.failures, world.Look.runs, world.Costly.balance = [], [], 0


@pytest.fixture
def person(transactional_db: None) -> Callable[..., models.User]:
    """Make a person in the groups that are named."""

    def make(name: str, *groups: str) -> models.User:
        user = models.User.objects.create(username=name, password="!")  # nobody signs in here
        user.groups.set(Group.objects.filter(name__in=groups))
        return user

    return make


@pytest.fixture
def operator(person: Callable[..., models.User]) -> models.User:
    """Somebody who starts runs."""
    return person("olga", "operator")


@pytest.fixture
def reviewer(person: Callable[..., models.User]) -> models.User:
    """Somebody who decides."""
    return person("rita", "reviewer")


@pytest.fixture
def start(operator: models.User) -> Callable[..., models.Run]:
    """Start a run of a playbook with these steps."""

    def make(*steps: dict[str, Any], input: dict[str, Any] | None = None, **more: Any) -> models.Run:
        name = f"agent-{next(_tokens)}"
        seed.register(
            declared.Agent(
                name=name,
                title="Test agent",
                provider="playbook",
                definition={
                    "steps": [*steps, {"id": "end", "title": "End", "finish": {"summary": "All done."}}]
                },
                tools=tuple(
                    f"world.{tool}"
                    for tool in (
                        *("look", "allowed", "unprotected", "lookup", "idempotent", "costly"),
                        *("back", "blind", "mild"),
                    )
                ),
                input_schema={"type": "object", "properties": {}},
                **more,
            )
        )
        return starts.start_run(
            name, input=input or {}, title="A test", by=Actor(user=operator), token=f"token-{next(_tokens)}"
        )

    return make


def step(tool: str, name: str = "thing", **more: Any) -> dict[str, Any]:
    """Return one playbook step that calls a world tool."""
    return {
        "id": more.pop("id", tool),
        "title": f"Do {name}",
        "tool": f"world.{tool}",
        "with": {"name": name},
        **more,
    }


def go(run: models.Run) -> models.Run:
    """Advance the run until it rests, and return it as it is then."""
    advance.advance(run.pk)
    run.refresh_from_db()
    return run


def answer(review: models.Review, user: models.User, verdict: str, **more: Any) -> models.Decision:
    """Answer a review as somebody who has just seen it."""
    retype = (review.content or {}).get("retype")
    given: dict[str, Any] = {
        "verdict": verdict,
        "revision": review.revision,
        "digest": review.digest,
        "evidence_number": review.evidence_number,
        "token": f"token-{next(_tokens)}",
        "reason": "because",
        "retype": retype["value"] if retype else "",
    }
    return decisions.decide(review.pk, decisions.Answer(**(given | more)), by=Actor(user=user))


def only_review(run: models.Run) -> models.Review:
    """Return the run's one open review."""
    return models.Review.objects.get(run=run, status="open")
