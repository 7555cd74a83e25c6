"""What supervisors and load balancers ask, without signing in: is the process alive, does work get done?"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator

import psycopg
import pytest
from django.db import OperationalError, connection
from django.db.models import F
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from ckptsite import health
from runs import hints, models
from runs.transitions import switches
from runs.transitions.actor import Actor
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def looks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test found isn't told in the next."""
    monkeypatch.setattr(health, "KEEP", 0.0)
    monkeypatch.setitem(hints._quiet, "until", 0.0)


@pytest.fixture
def clock(transactional_db: None) -> Iterator[psycopg.Connection]:
    """The connection of a clock that has just looked."""
    at = connection.get_connection_params()
    known = {name: at[name] for name in ("dbname", "user", "password", "host", "port") if at.get(name)}
    with psycopg.connect(**known, application_name="ckptsite clock", autocommit=True) as mine:
        mine.execute("SELECT 1")
        yield mine


def asked(status: int) -> dict[str, dict[str, object]]:
    response = Client().get(reverse("readyz"))
    assert response.status_code == status
    assert "no-store" in response["Cache-Control"]
    found = json.loads(response.content)
    assert set(found) == {"ready", "database", "oldest_due_run", "clock", "broker"}
    assert found["ready"] is (status == 200)
    return dict(found)


def test_alive_asks_nothing_else(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(0):
        assert Client().get(reverse("healthz")).content == b"ok\n"


def test_ready_while_a_clock_looks(clock: psycopg.Connection, settings: Settings) -> None:
    found = asked(200)
    assert found["database"] == {"ok": True}
    assert found["broker"] == {"ok": True, "needed": False}
    assert found["oldest_due_run"] == {"ok": True, "seconds": None, "bar": 300.0}
    settings.CKPTSITE = {**settings.CKPTSITE, "READY_CLOCK": -1.0}
    assert asked(503)["clock"]["ok"] is False  # its last look is too long ago
    settings.CKPTSITE = {**settings.CKPTSITE, "READY_CLOCK": 60.0}
    asked(200)
    clock.close()
    assert asked(503)["clock"] == {"ok": False, "seconds": None, "bar": 60.0}


def test_a_run_that_nobody_takes_up_is_told_but_not_one_that_is_paused(clock: psycopg.Connection) -> None:
    who = factories.people()
    run = factories.demo_run(who.operator)
    assert asked(200)["oldest_due_run"]["ok"] is True
    models.Run.objects.filter(pk=run.pk).update(wake_at=F("wake_at") - datetime.timedelta(minutes=6))
    found = asked(503)["oldest_due_run"]
    assert found["ok"] is False
    assert 355 < float(str(found["seconds"])) < 480
    switches.pause_all(True, by=Actor(user=who.admin), reason="A look.")
    assert asked(200)["oldest_due_run"]["seconds"] is None


def test_servers_that_are_away(
    clock: psycopg.Connection, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as away:
        away.setattr("runs.hints.queued", lambda: None)
        assert asked(200)["broker"] == {"ok": False, "needed": False}  # slower, not stopped
        settings.CKPTSITE = {**settings.CKPTSITE, "READY_BROKER": True}
        assert asked(503)["broker"] == {"ok": False, "needed": True}

    def gone(*_: object) -> None:
        raise OperationalError("the connection is closed: secret detail")

    monkeypatch.setattr("django.db.backends.utils.CursorWrapper.execute", gone)
    found = asked(503)
    assert found["database"] == {"ok": False}
    assert "secret" not in json.dumps(found)


def test_asking_often_costs_one_look(
    clock: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    monkeypatch.setattr(health, "KEEP", 60.0)
    monkeypatch.setattr(health, "_last", {})
    asked(200)
    with django_assert_num_queries(0):
        asked(200)
