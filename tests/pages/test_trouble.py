"""Each way in which things go wrong is said on the run's page with its cause, in words for reviewers."""

from __future__ import annotations

import datetime
from unittest import mock

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from runs import models
from runs.engine import acting, reading
from runs.tools.contract import DidNotHappen
from runs.transitions import steps
from tests import factories
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import Killed, expire_lease
from tests.engine.world import Look, World
from tests.pages.conftest import As
from tests.pages.test_pages import text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(who: factories.People, as_: As) -> Client:
    """Somebody who only looks."""
    return as_(who.viewer)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Back-offs outlast the test."""
    monkeypatch.setattr(reading, "BACKOFF", 600.0)
    monkeypatch.setattr(acting, "BACKOFF", 600.0)


def page(client: Client, run: models.Run) -> str:
    return text(client, reverse("run", args=[run.pk]))


def test_a_read_that_is_tried_again_says_when_and_why(who: factories.People, client: Client) -> None:
    """Retryable: it sleeps until its back-off is over."""
    Look.failures = [OSError("the share is away")]
    run = go(factories.start(who.operator, step("look", "file")))
    said = page(client, run)
    assert "Tries again at" in said
    assert "Why the last try came to nothing" in said
    assert "OSError: the share is away" in said
    with clockwork.ahead(hours=1):
        run = go(run)
    assert run.status == "succeeded"
    assert "Why the last try" not in page(client, run)


def test_an_effect_that_provably_did_not_happen_and_is_sent_again_says_so(
    who: factories.People, client: Client
) -> None:
    """Retryable: the same, under its old key; it isn't mistaken for an undo window."""
    run = go(factories.start(who.operator, step("lookup", "mail")))
    answer(only_review(run), who.reviewer, "approve")
    World.absent = "again later: connection refused"
    run = go(run)
    said = page(client, run)
    assert "Tries again at" in said
    assert "again later: connection refused" in said
    assert "unless the approval is taken back" not in said


def test_a_definite_failure_says_its_cause(who: factories.People, client: Client) -> None:
    """Definite: nothing happened, nothing is tried again, somebody says what next."""
    run = go(factories.start(who.operator, step("lookup", "mail")))
    answer(only_review(run), who.reviewer, "approve")
    World.absent = "the address does not exist"
    run = go(run)
    said = page(client, run)
    assert "Why it failed" in said
    assert "the address does not exist" in said
    assert "It did not happen" in said


def test_an_unknown_outcome_asks_whether_it_happened(who: factories.People, client: Client) -> None:
    """Unknown: the page says that it may have happened, and who has to find out."""
    run = factories.in_doubt(who.operator, who.reviewer)
    said = page(client, run)
    assert "Somebody has to find out whether something happened" in said
    assert "No answer came, so it may have happened" in said
    assert "ConnectionError: the answer was lost" in said


def test_a_run_that_kills_its_workers_says_so(who: factories.People, client: Client) -> None:
    """Poison: after so many workers it ends, visibly, and is not tried for ever."""
    run = factories.start(who.operator, step("look", "it"))
    with mock.patch.object(Look, "run", side_effect=Killed):
        for _ in range(6):
            with pytest.raises(Killed):
                go(run)
            expire_lease(run)
    run = go(run)
    said = page(client, run)
    assert "The worker was lost several times in a row at this point." in said
    assert "Failed; somebody has to say what next" in text(client, reverse("runs")) or run.status == "failed"


def test_a_lost_worker_is_said_while_another_is_awaited_and_at_work(
    who: factories.People, client: Client
) -> None:
    """Lost authority: the lease ran out; then the next worker has it, and what is done is not done again."""
    run = factories.start(who.operator, step("look", "it"))
    assert steps.claim(run.pk) is not None
    models.Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() + datetime.timedelta(minutes=1))
    assert "A worker is on it right now." in page(client, run)
    models.Run.objects.filter(pk=run.pk).update(lease_until=timezone.now())
    assert "Its worker doesn&#x27;t answer any more; another one takes over" in page(client, run)
    assert steps.claim(run.pk) is not None
    models.Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() + datetime.timedelta(minutes=1))
    assert "the one before it was lost" in page(client, run)


def test_a_fault_that_is_tried_again_says_its_cause(who: factories.People, client: Client) -> None:
    """A fault of the engine's own, or the database's: counted, said, and tried again."""
    from runs.providers.playbook import Playbook

    run = factories.start(who.operator, step("look", "it"))
    with mock.patch.object(Playbook, "complete", side_effect=RuntimeError("a bug")):
        run = go(run)
    said = page(client, run)
    assert "Something went wrong here; it is tried again in a moment." in said
    assert "RuntimeError: a bug" in said


def test_a_failed_read_is_definite_when_the_tool_says_so(who: factories.People, client: Client) -> None:
    Look.failures = [DidNotHappen("The file is empty.")]
    run = go(factories.start(who.operator, step("look", "file")))
    assert "The file is empty." in page(client, run)
