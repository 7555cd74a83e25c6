"""Coming in over an identity provider: who may, and who doesn't."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from ckptsite import oidc
from runs import models
from tests import factories
from tests.pages import identity_provider
from tests.pages.test_decisions import opened

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Answer

pytestmark = pytest.mark.django_db(transaction=True)


def come(provider: identity_provider.Provider, *, wrong: str = "") -> tuple[Client, Answer]:
    """Return a browser that went there and came back, and what it was answered."""
    client = Client()
    page = client.get(f"{reverse('login')}?next=/runs/").content.decode()
    assert "Go on with Example" in page
    there = client.post(f"{reverse('single-sign-on')}?process=login&next=/runs/")
    assert there["Location"].startswith(f"{provider.url}/authorize?")
    back = provider.agree(there["Location"]).replace("state=", f"state={wrong}")
    assert back.startswith(f"http://testserver{reverse('openid_connect_callback', args=[oidc.PROVIDER])}")
    return client, client.get(back)


@pytest.fixture
def provider(transactional_db: None, settings: Settings) -> Iterator[identity_provider.Provider]:
    """An identity provider that this site knows, and that knows paula."""
    factories.person("paula", "reviewer")
    models.User.objects.update(email="paula@example.org")
    with identity_provider.running() as found:
        app = oidc.app(found.url, identity_provider.CLIENT, identity_provider.SECRET, name="Example")
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [app]}}
        found.person = {"sub": "p1", "email": "Paula@example.org", "email_verified": True}
        yield found


def test_it_is_off_unless_somebody_sets_it_up(transactional_db: None) -> None:
    assert Client().post(reverse("single-sign-on")).status_code == 404


def test_single_sign_on(provider: identity_provider.Provider, settings: Settings) -> None:
    paula = models.User.objects.get()
    client, answer = come(provider)
    assert (answer.status_code, answer["Location"]) == (302, "/runs/")
    assert client.get("/settings/").status_code == 200
    row = models.Session.objects.get(user=paula)
    assert not row.strong
    assert models.AuditEvent.objects.latest("seq").content == {"shown": ["single sign-on"]}
    provider.person["email"] = "another@example.org"  # they are known now, whatever their address is
    provider.token_claims = {"amr": ["pwd", "mfa"]}
    client, _ = come(provider)
    assert models.Session.objects.get(pk=client.session.session_key).strong

    # Who isn't known, whose address isn't proven, and who is switched off, stay outside.
    before = models.User.objects.count()
    for told in (
        {"sub": "p2", "email": "eve@example.com", "email_verified": True},
        {"sub": "p3", "email": "paula@example.org", "email_verified": False},
        {"sub": "p4"},
    ):
        provider.person = told
        client, answer = come(provider)
        assert answer.status_code == 403
        assert "An administrator can add you" in answer.content.decode()
        assert client.get("/runs/").status_code == 302
    codes = models.Refusal.objects.filter(act="person.sign_in").values_list("code", flat=True)
    assert list(codes) == ["unknown"] * 3
    provider.person = {"sub": "p1", "email": "paula@example.org", "email_verified": True}
    models.User.objects.filter(pk=paula.pk).update(is_active=False)
    client, answer = come(provider)
    assert client.get("/runs/").status_code == 302
    client, answer = come(provider, wrong="x")  # somebody else's answer
    assert answer.status_code == 403
    assert models.User.objects.count() == before

    # A domain that is let in makes its people, in the group that is set.
    settings.CKPTSITE_OIDC_DOMAINS, settings.CKPTSITE_OIDC_GROUP = ["example.com"], "operator"
    provider.person = {"sub": "p2", "email": "eve@Example.com", "email_verified": True, "given_name": "Eve",
                       "preferred_username": "paula"}  # fmt: skip
    client, answer = come(provider)
    assert answer["Location"] == "/runs/"
    eve = models.User.objects.latest("pk")
    assert (eve.username, eve.first_name, *eve.roles()) == ("paula-2", "Eve", "operator")
    assert not eve.has_usable_password()
    added = models.AuditEvent.objects.get(act="person.added")
    assert added.content["after"]["groups"] == ["operator"]


def test_who_is_asked_again_shows_a_sign_in_there_that_is_new(provider: identity_provider.Provider) -> None:
    """What is old, isn't said or can't be is refused and noted; a session begins as proven as the sign-in there is."""
    paula = models.User.objects.get()
    client, _ = come(provider)
    review = factories.held(factories.person("olga", "operator"), tool="costly", name="fee")
    place = reverse("review", args=[review.pk])
    form = opened(client, review) | {"retype": "1.00"}
    asked = client.post(place, form, headers={"Referer": f"http://testserver{place}"})
    found = re.search(r'action="([^"]*auth_params[^"]*)"', client.get(asked["Location"]).content.decode())
    assert found is not None
    way, now = html.unescape(found[1]), int(time.time())
    assert way.endswith(f"&next={place.replace('/', '%2F')}")
    for wrong in ({}, {"auth_time": now - 3600}, {"auth_time": now + 3600}, {"auth_time": "now"}):
        provider.token_claims = wrong
        there = client.post(way)["Location"]
        assert {"prompt=login", "max_age=0"} <= {*urlsplit(there).query.split("&")}
        refused = client.get(provider.agree(there))
        assert refused.status_code == 403
        assert "ask you anew" in refused.content.decode()
        assert client.post(place, form)["Location"].startswith("/prove/elsewhere/")
    assert models.Refusal.objects.filter(act="person.prove", actor=paula).count() == 4
    provider.token_claims = {"auth_time": now}
    assert client.get(provider.agree(client.post(way)["Location"]))["Location"] == place
    client.post(place, opened(client, review) | {"retype": "1.00"})
    review.refresh_from_db()
    assert review.votes == 1
