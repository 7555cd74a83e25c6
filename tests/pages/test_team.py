"""The team page: people come by a link, get roles from somebody else, and are switched off at once."""

from __future__ import annotations

import re

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from django.urls import reverse

from runs import models
from runs.engine import verifier
from runs.transitions import team, tokens
from runs.transitions.actor import Actor
from runs.transitions.refusals import NotYours
from tests import factories
from tests.engine.conftest import answer, go
from tests.engine.world import World
from tests.pages.test_pages import queries, text

pytestmark = pytest.mark.django_db(transaction=True)
TEAM = "/team/"


def test_somebody_joins_by_a_link_that_works_once(who: factories.People) -> None:
    admin, stranger = Client(), Client()
    admin.force_login(who.admin)
    given = {
        "act": "invite",
        "username": "nina",
        "email": "nina@example.org",
        "groups": ["viewer", "reviewer"],
    }
    for wrong in ({"username": "a b"}, {"email": "nowhere"}, {"username": "VIEWER-1"}, {"groups": ["gods"]}):
        refused = admin.post(TEAM, given | wrong)
        assert refused.status_code == 422, wrong
    assert "nina@example.org" in admin.post(TEAM, given | {"username": "a b"}).content.decode()
    made = admin.post(TEAM, given)
    link = re.search(r"/join/[\w-]+/", made.content.decode())
    assert link is not None
    assert link[0] not in text(admin, TEAM)  # shown once
    for _ in range(2):
        assert stranger.get(link[0]).status_code == 200  # a mail scanner uses nothing up
    password = {"new_password1": factories.PASSWORD, "new_password2": factories.PASSWORD}
    assert stranger.post(link[0], password | {"new_password2": "other"}).status_code == 422
    assert stranger.post(link[0], password).status_code == 303
    assert stranger.get(link[0]).status_code == 404
    assert stranger.login(username="nina", password=factories.PASSWORD)
    nina = models.User.objects.get(username="nina")
    assert nina.roles() == {"viewer", "reviewer"}
    assert text(stranger, TEAM).count("nina") > 0
    assert "nina@example.org" not in text(stranger, TEAM)
    verifier.verify()


def test_roles_are_changed_by_another_administrator_and_in_force_at_once(
    who: factories.People, house: factories.House
) -> None:
    """Whoever loses the right to decide has approved nothing that hasn't started."""
    client = Client()
    client.force_login(who.admin)
    place = reverse("person", args=[who.reviewer.pk])
    review = models.Review.objects.get(run=house.asked, status="open")
    answer(review, who.reviewer, "approve")
    _, secret = tokens.create(
        name="s", kind="person", acts=["decide"], days=7, form="f", by=Actor(user=who.reviewer)
    )
    few = queries(client, TEAM)
    done = len(World.effects())
    assert client.post(place, {"act": "roles", "seen": "reviewer", "groups": ["viewer"]}).status_code == 303
    go(house.asked)
    assert len(World.effects()) == done
    event = models.AuditEvent.objects.filter(act="person.changed").latest("seq")
    assert (event.content["before"]["groups"], event.content["after"]["groups"]) == (["reviewer"], ["viewer"])
    late = client.post(place, {"act": "roles", "seen": "reviewer", "groups": ["admin"]})
    assert late.status_code == 409
    assert client.post(place, {"act": "off"}).status_code == 303
    assert models.ApiToken.objects.get().revoked_at is not None
    asked = Client().get("/api/v1/runs", headers={"Authorization": f"Bearer {secret}"})
    assert asked.status_code == 401
    own = reverse("person", args=[who.admin.pk])
    for act in ({"act": "roles", "seen": "admin", "groups": ["admin", "auditor"]}, {"act": "off"}):
        assert client.post(own, act).status_code == 403  # no administrator less, no right more, by oneself
    who.admin.refresh_from_db()
    assert who.admin.is_active
    for number in range(4):
        factories.person(f"more-{number}", "viewer")
    assert queries(client, TEAM) == few <= 24
    verifier.verify()


def test_two_administrators_who_take_each_others_role_leave_one(who: factories.People) -> None:
    other = factories.person("ada", "admin")
    team.set_groups(other.pk, ["viewer"], seen=["admin"], by=Actor(user=who.admin))
    with pytest.raises(NotYours):
        team.set_groups(who.admin.pk, ["viewer"], seen=["admin"], by=Actor(user=other))


def test_who_lost_their_password_or_phone_begins_anew(who: factories.People) -> None:
    """Password, second factors and sessions end at once; nobody does that to themselves."""
    admin, lost = Client(), Client()
    who.viewer.set_password(factories.PASSWORD)
    who.viewer.save()
    admin.force_login(who.admin)
    lost.force_login(who.viewer)
    Authenticator.objects.create(user=who.viewer, type=Authenticator.Type.TOTP, data={"secret": "x"})
    assert "Reset their sign-in" in text(admin, f"{TEAM}{who.viewer.pk}/")
    made = admin.post(f"{TEAM}{who.viewer.pk}/", {"act": "reset"})
    link = re.search(r"/join/[\w-]+/", made.content.decode())
    assert link is not None
    assert lost.get("/runs/").status_code == 302
    assert not Authenticator.objects.exists()
    assert not lost.login(username=who.viewer.username, password=factories.PASSWORD)
    assert lost.get(link[0]).status_code == 200
    assert models.AuditEvent.objects.latest("seq").content["words"] == "sign-in reset, second factors removed"
    assert admin.post(f"{TEAM}{who.viewer.pk}/", {"act": "reset"}).status_code == 409
    assert admin.post(f"{TEAM}{who.admin.pk}/", {"act": "reset"}).status_code == 403


def test_forms_of_the_team_page_keep_what_was_typed(who: factories.People) -> None:
    client = Client()
    client.force_login(who.admin)
    assert client.post(TEAM, {"act": "group", "name": "Finance"}).status_code == 303
    assert client.post(TEAM, {"act": "group", "name": "finance"}).status_code == 422
    day = {
        "act": "delegate",
        "principal": who.reviewer.pk,
        "to": who.admin.pk,
        "until": "2020-01-01",
        "reason": "Leave.",
    }
    refused = client.post(TEAM, day)
    assert refused.status_code == 422
    assert "Leave." in refused.content.decode()
    shift = {"act": "shift", "member": f"reviewer:{who.reviewer.pk}", "days": ["1", "5"], "starts": "22:00",
             "ends": "06:00", "since": "2026-01-01", "until": ""}  # fmt: skip
    assert client.post(TEAM, shift | {"starts": "late"}).status_code == 422
    assert client.post(TEAM, shift | {"days": []}).status_code == 422
    assert client.post(TEAM, shift).status_code == 303
    row = models.Shift.objects.get()
    assert "Mon, Fri, 22:00 to 06:00" in text(client, TEAM)
    assert client.post(reverse("shift-end", args=[row.pk])).status_code == 303
    assert client.post(reverse("shift-end", args=[row.pk])).status_code == 409
    assert client.post(TEAM, {"act": "nothing"}).status_code == 404
    assert client.post(f"{TEAM}{who.viewer.pk}/", {"act": "nothing"}).status_code == 404
