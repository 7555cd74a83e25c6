"""Who is turned away at a page, and what administrators change about people, is on record too."""

from __future__ import annotations

from unittest import mock

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from runs import models
from runs.engine import verifier
from runs.transitions import attempts
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)


def test_who_is_turned_away_at_a_page_is_noted(who: factories.People) -> None:
    review = factories.held(who.operator)

    def newest() -> tuple[str, str, str, models.User | None]:
        row = models.Refusal.objects.latest("pk")
        return row.act, row.code, row.subject, row.actor

    client = Client()
    client.force_login(who.viewer)
    assert client.post(reverse("review", args=[review.pk]), {"verdict": "approve"}).status_code == 403
    assert newest() == ("page.review", "not_yours", f"review {review.pk}", who.viewer)
    assert client.post(reverse("switches"), {"what": "all", "on": "1"}).status_code == 403
    assert newest()[:2] == ("page.switches", "not_yours")
    client.force_login(who.nobody)
    assert client.get(reverse("inbox")).status_code == 404
    assert newest() == ("page.inbox", "no_group", "page.inbox", who.nobody)
    forger = Client(enforce_csrf_checks=True)
    forger.force_login(who.reviewer)
    assert forger.post(reverse("review", args=[review.pk]), {"verdict": "approve"}).status_code == 403
    assert newest() == ("page.review", "forged", f"review {review.pk}", who.reviewer)
    before = models.AuditEvent.objects.count()
    factories.person("lee", "viewer", password=factories.PASSWORD)
    for name, password in (("lee", "wrong"), ("hunter2", "hunter2")):
        assert Client().post(reverse("login"), {"username": name, "password": password}).status_code == 200
    subjects = list(
        models.Refusal.objects.filter(act="person.sign_in").order_by("pk").values_list("subject", flat=True)
    )
    assert subjects == [f"user {models.User.objects.get(username='lee').pk}", "nobody known here"]
    Client().post(reverse("login"), {"username": "lee", "password": factories.PASSWORD})
    assert [event.act for event in models.AuditEvent.objects.order_by("seq")[before:]] == ["person.signed_in"]

    with mock.patch.object(attempts, "MOST", models.Refusal.objects.filter(actor=who.viewer).count() + 1):
        client.force_login(who.viewer)
        for _ in range(4):
            client.post(reverse("switches"), {"what": "all", "on": "1"})
    codes = models.Refusal.objects.filter(actor=who.viewer, act="page.switches").order_by("pk")
    assert list(codes.values_list("code", flat=True)) == ["not_yours", "not_yours", "more"]


def test_what_an_administrator_changes_about_people_is_audited(who: factories.People) -> None:
    client = Client()
    client.force_login(who.admin)
    page = reverse("admin:runs_user_change", args=[who.viewer.pk])
    form = {"username": who.viewer.username, "email": "new@example.org"}
    more = {"is_active": "", "is_superuser": "on", "groups": [Group.objects.get(name="admin").pk]}
    assert client.post(page, form | more).status_code == 302
    event = models.AuditEvent.objects.latest("seq")
    assert (event.act, event.actor, event.subject) == ("person.changed", who.admin, f"user {who.viewer.pk}")
    assert event.content["after"] == event.content["before"] | {
        "email": "new@example.org"
    }  # roles are as they were
    count = models.AuditEvent.objects.count()
    group = Group.objects.get(name="viewer")
    for place, given in (
        (reverse("admin:auth_group_change", args=[group.pk]), {"name": "admin-too"}),
        (reverse("admin:auth_group_add"), {"name": "finance"}),
        (reverse("admin:auth_group_delete", args=[group.pk]), {"post": "yes"}),
        (reverse("admin:runs_user_delete", args=[who.viewer.pk]), {"post": "yes"}),
        (reverse("admin:runs_user_add"), {"username": "new"}),
    ):
        assert client.post(place, given).status_code == 403, place
    assert client.post(f"{page}../password/", {"password1": "x"}).status_code in {302, 404}
    assert models.AuditEvent.objects.count() == count
    assert f'href="{reverse("team")}">team page</a>' in client.get(page).content.decode()
    verifier.verify()
