"""Signing in and out, the first administrator, and the admin."""

from __future__ import annotations

import io
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import Group
from django.core import management, signing
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from runs import models
from runs.forms import setup as links
from tests import factories
from tests.pages.conftest import As
from tests.pages.test_decisions import fields

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def person(transactional_db: None) -> models.User:
    """Somebody with a password."""
    return factories.person("paula", "viewer", password=factories.PASSWORD)


def sign_in(client: Client, password: str, *, name: str = "paula", to: str = "") -> int:
    """Return the status of one try."""
    return client.post(reverse("login"), {"username": name, "password": password, "next": to}).status_code


def test_in_to_where_one_wanted_to_go_and_out(person: models.User) -> None:
    client = Client(enforce_csrf_checks=True)
    place = reverse("runs")
    page = client.get(f"{reverse('login')}?next={place}").content.decode()
    form = fields(page, form='name="password"') | {"username": "paula", "password": factories.PASSWORD}
    response = client.post(reverse("login"), form)
    assert (response.status_code, response["Location"]) == (302, place)
    page = client.get(place).content.decode()
    assert client.get(reverse("logout")).status_code == 405
    assert client.post(reverse("logout"), fields(page, form=reverse("logout"))).status_code == 302
    assert client.get(place).status_code == 302


def test_next_leads_nowhere_else(person: models.User) -> None:
    client = Client()
    response = client.post(
        reverse("login"),
        {"username": "paula", "password": factories.PASSWORD, "next": "https://elsewhere.example/"},
    )
    assert response["Location"] == reverse("inbox")


def test_wrong_tries_are_limited_by_name_and_by_address(person: models.User, settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    for name, password in (("paula", factories.PASSWORD), ("other", factories.PASSWORD)):
        models.User.objects.filter(username=name).delete()
        factories.person(name, "viewer", password=password)
    for number in range(20):  # from two addresses
        client = Client(REMOTE_ADDR=f"10.0.0.{number % 2}")
        assert sign_in(client, "wrong") == 200
    assert sign_in(client, "wrong") == 429
    assert (
        sign_in(Client(REMOTE_ADDR="10.0.0.9"), factories.PASSWORD) == 429
    )  # even the right one, from anywhere
    assert sign_in(client, factories.PASSWORD, name="other") == 302
    for number in range(9):  # one address that goes through names
        client = Client(REMOTE_ADDR="10.0.0.1")
        assert sign_in(client, "wrong", name=f"nobody-{number}") == 200
    assert sign_in(client, "wrong", name="nobody-11") == 429
    for _ in range(19):
        status = sign_in(client, factories.PASSWORD, name="other")
    assert status == 429  # and more than thirty a minute aren't looked at at all
    assert "Too many requests" in client.post(reverse("login"), {}).content.decode()


def test_the_first_administrator_is_made_once(transactional_db: None) -> None:
    out = io.StringIO()
    management.call_command("setup_link", stdout=out)
    place = urlsplit(out.getvalue().strip()).path
    client = Client(enforce_csrf_checks=True)
    page = client.get(place).content.decode()
    form = fields(page, form='name="password1"') | {
        "username": "ada",
        "password1": "short",
        "password2": "short",
    }
    refused = client.post(place, form)
    assert refused.status_code == 422
    assert "too short" in refused.content.decode()
    good = form | {"password1": factories.PASSWORD, "password2": factories.PASSWORD}
    assert client.post(place, good).status_code == 303
    user = models.User.objects.get()
    assert user.is_superuser
    assert user.roles() == {"admin"}
    assert client.get(reverse("inbox")).status_code == 200  # signed in
    assert client.get(reverse("admin:index")).status_code == 200
    assert models.AuditEvent.objects.get().act == "person.first_administrator"
    assert Client().get(place).status_code == 404
    again = io.StringIO()
    management.call_command("setup_link", stdout=again, stderr=io.StringIO())
    assert again.getvalue() == ""


def test_a_forged_or_old_link_is_nothing(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Client().get(reverse("setup", args=["forged"])).status_code == 404
    foreign = signing.TimestampSigner(salt="other").sign("first-administrator")
    assert Client().get(reverse("setup", args=[foreign])).status_code == 404
    mine = urlsplit(links.address()).path
    assert Client().get(mine).status_code == 200
    monkeypatch.setattr(links, "HOURS", -1)
    assert Client().get(mine).status_code == 404


def test_the_admin_changes_people_and_only_reads_runs(
    who: factories.People, house: factories.House, as_: As
) -> None:
    client = as_(who.admin)
    assert client.get(reverse("admin:runs_user_change", args=[who.viewer.pk])).status_code == 200
    assert client.get(reverse("admin:auth_group_change", args=[Group.objects.all()[0].pk])).status_code == 200
    for model in ("run", "entry", "action", "review", "decision", "auditevent", "occurrence", "checkpoint"):
        listed = client.get(reverse(f"admin:runs_{model}_changelist"))
        assert listed.status_code == 200, model
        assert client.get(reverse(f"admin:runs_{model}_add")).status_code == 403, model
    place = reverse("admin:runs_run_change", args=[house.done.pk])
    page = client.get(place).content.decode()
    assert 'name="_save"' not in page
    token = fields(client.get(reverse("admin:index")).content.decode(), form="logout")
    assert client.post(place, token | {"status": "failed"}).status_code == 403
    assert client.get(reverse("admin:runs_run_delete", args=[house.done.pk])).status_code == 403
    assert models.Run.objects.get(pk=house.done.pk).status == "succeeded"


def test_the_admin_has_no_sign_in_of_its_own(who: factories.People, as_: As) -> None:
    response = Client().get(reverse("admin:index"), follow=True)
    assert response.redirect_chain[-1][0].startswith(reverse("login"))
    assert as_(who.reviewer).get(reverse("admin:index")).status_code == 302
