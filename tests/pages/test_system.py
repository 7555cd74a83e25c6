"""Whether the site does its work: a page for who operates it, and figures for Prometheus."""

from __future__ import annotations

import datetime
import re

import pytest
from django.db import OperationalError
from django.db.models import Count, F
from django.test import Client
from django.urls import reverse
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from runs import hints, models
from runs.selectors import gauges, storage, storage_page
from runs.transitions import switches, team
from runs.transitions.actor import Actor
from tests import factories
from tests.pages.conftest import As
from tests.pages.test_pages import text

pytestmark = pytest.mark.django_db(transaction=True)
TOKEN = "scrape-me-0123456789"


@pytest.fixture(autouse=True)
def looks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test found isn't told in the next."""
    for module in (gauges, storage):
        monkeypatch.setattr(module, "KEEP", 0.0)
    monkeypatch.setattr(storage, "BLOCKS", 10**9)  # what other tests left behind takes room, too
    monkeypatch.setitem(hints._quiet, "until", 0.0)


def checks(client: Client) -> dict[str, str]:
    """Return what the page says of each thing, with a mark before what needs attention."""
    page = client.get(reverse("system")).content.decode()
    rows = re.findall(
        r'<span class="found tone-(\w+)">.*?</svg>\s*(\w+).*?<td[^>]*>(.*?)</td>', page, re.DOTALL
    )
    words = {name: (state, " ".join(re.sub(r"<[^>]+>", " ", said).split())) for state, name, said in rows}
    return {name: said if state == "good" else f"{state}: {said}" for name, (state, said) in words.items()}


def test_each_thing_says_how_it_stands_and_what_to_do(who: factories.People, as_: As) -> None:
    """No worker and no clock are connected here; a run is due for an hour, a worker was lost, all is paused."""
    client = as_(who.operator)
    found = checks(client)
    assert found["Work"] == "No run waits for a worker."
    assert found["Workers"].startswith("bad: None is connected. Nothing is carried out until one is started")
    assert found["Clock"].startswith("bad: None is connected.")
    assert re.fullmatch(r"It answers; [\d,]+ wake-ups? waits? there\.", found["Broker"])
    assert found["Database"].startswith("PostgreSQL ")
    assert (found["Questions"], found["Switches"]) == ("Nobody is asked anything.", "Nothing is paused.")
    due, lost = (factories.demo_run(who.operator) for _ in range(2))
    hour = datetime.timedelta(hours=1)
    models.Run.objects.filter(pk=due.pk).update(wake_at=F("wake_at") - hour)
    models.Run.objects.filter(pk=lost.pk).update(
        status="running", lease_until=F("wake_at") - hour, wake_at=None, fence=1, attempts=2
    )
    review = factories.held(who.operator)
    models.Review.objects.filter(pk=review.pk).update(due_at=F("opened_at") - hour)
    found = checks(client)
    assert found["Work"].startswith("bad: 2 runs wait for a worker, the oldest for 1 h 0 min.")
    assert found["Claims"].startswith(
        "bad: 1 run is at work; of 1 the worker was lost, of the first 1 h 0 min ago."
    )
    assert found["Questions"] == "ask: 1 is open; 1 is overdue."
    assert reverse("run", args=[lost.pk]) in client.get(reverse("system")).content.decode()
    assert "9 things" not in text(client, reverse("system"))
    assert "need attention." in text(client, f"{reverse('system')}?part=state")
    switches.pause_all(True, by=Actor(user=who.admin), reason="A look.")
    found = checks(client)
    assert found["Work"].startswith("ask: Nothing is taken up: everything is paused,")
    assert found["Switches"].startswith("ask: Paused: ")


def test_a_notice_that_is_gathered_is_none_that_is_late(who: factories.People, as_: As) -> None:
    """Late is what should have gone out by now."""
    notice = models.Notice.objects.create(kind="review.opened")
    given = {"notice": notice, "channel": "email", "target": "a@example.com"}
    delivery = models.Delivery.objects.create(
        **given, next_at=datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)
    )
    client = as_(who.operator)
    assert checks(client)["Notices"] == "1 waits to be sent."
    models.Delivery.objects.filter(pk=delivery.pk).update(
        next_at=datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    )
    assert checks(client)["Notices"].startswith("ask: 1 waits to be sent. Outgoing notices say why")


def test_it_costs_the_same_whatever_is_stored(
    who: factories.People, house: factories.House, as_: As, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """Twelve statements for a look, which answers everybody for a second."""
    with django_assert_num_queries(12):
        gauges.find()


def test_who_is_limited_to_some_agents_sees_nothing_of_the_others(who: factories.People, as_: As) -> None:
    factories.demo_run(who.operator)
    team.set_scope(f"user {who.operator.pk}", ["receivables"], by=Actor(user=who.admin))
    for name in ("system", "storage"):
        assert as_(who.operator).get(reverse(name)).status_code == 403


def test_the_storage_page_says_what_fills_the_database(
    who: factories.People,
    house: factories.House,
    as_: As,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    """Of a site that is a day old nothing is foretold; of an older one what its pace comes to."""
    address = reverse("storage")
    told = text(as_(who.operator), address)
    assert f"All {models.Entry.objects.count():,} lines of it were counted." in told
    assert "too lately to say how it goes on" in told
    week, month = models.Run.objects.order_by("pk").values_list("pk", flat=True)[:2]
    for pk, days in ((week, 40), (month, 10)):
        models.Run.objects.filter(pk=pk).update(created_at=F("created_at") - datetime.timedelta(days=days))
    monkeypatch.setattr(storage_page, "FEWEST", 1)
    with django_assert_num_queries(8):
        found = storage.find()
    runs = models.Run.objects.count()
    assert [round(pace.days * pace.runs) for pace in found.paces] == [runs - 2, runs - 1]
    told = text(as_(who.operator), address)
    assert "At the pace of the last 7 days the database holds about " in told
    assert "The last 30 days" in told
    assert reverse("storage") in as_(who.operator).get(reverse("system")).content.decode()

    def away() -> storage.Storage:
        raise OperationalError("gone")

    monkeypatch.setattr(storage, "find", away)
    assert "Nothing is lost meanwhile." in text(as_(who.operator), address)


def test_a_database_that_is_away_is_said(
    who: factories.People, as_: As, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    def away() -> gauges.Gauges:
        raise OperationalError("gone")

    monkeypatch.setattr(gauges, "find", away)
    settings.CKPTSITE_METRICS_TOKEN = TOKEN
    assert "The database doesn't answer" in scraped(503)
    assert "nothing is lost meanwhile" in text(as_(who.operator), reverse("system"))


def scraped(status: int = 200, token: str = TOKEN) -> str:
    response = Client().get(reverse("metricsz"), headers={"Authorization": f"Bearer {token}"})
    assert response.status_code == status
    assert "no-store" in response["Cache-Control"]
    return response.content.decode()


def test_prometheus_reads_figures_and_nothing_of_the_work(house: factories.House, settings: Settings) -> None:
    assert Client().get(reverse("metricsz")).status_code == 404
    settings.CKPTSITE_METRICS_TOKEN = TOKEN
    for wrong in ("", "scrape-me", f"{TOKEN}x", "ä"):
        scraped(401, token=wrong)
    told = scraped()
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(told)
        for sample in family.samples
    }
    by_status = dict(models.Run.objects.order_by().values_list("status").annotate(Count("pk")))
    assert found["ckptsite_runs_open", "waiting"] == by_status["waiting"]
    assert found["ckptsite_runs_ended_last_hour", "succeeded"] == by_status["succeeded"]
    assert found["ckptsite_questions_open", "2", "action"] >= 1
    assert found["ckptsite_connections", "worker"] == 0
    assert found["ckptsite_broker_up",] == 1.0
    assert found["ckptsite_database_bytes",] > 1_000_000
    kinds = [value for (name, *_), value in found.items() if name == "ckptsite_storage_bytes"]
    assert len(kinds) == len(storage.GROUPS) + 1
    assert found["ckptsite_storage_bytes", "log"] > 100_000
    assert found["ckptsite_storage_lines",] == models.Entry.objects.count()
    for run in house.runs:
        assert run.title not in told
