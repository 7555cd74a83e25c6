"""Nothing that is refused stays hidden from the audit, and a refusal says nothing of what isn't theirs to see."""

from __future__ import annotations

import datetime
import json

import pytest
from django.test import Client
from django.urls import reverse

from runs import models
from runs.api import acts
from runs.selectors import record_models
from runs.transitions import attempts, endpoints, refusals, team
from runs.transitions.actor import Actor
from tests import factories
from tests.api.conftest import Give
from tests.attacks.conftest import standing
from tests.engine.conftest import only_review
from tests.pages.conftest import As
from tests.pages.test_pages import text
from tests.pages.test_plan_editor import token_of

pytestmark = pytest.mark.django_db(transaction=True)


def newest() -> tuple[str, str, str, models.User | None]:
    """Return act, code, subject and person of the last refused attempt."""
    row = models.Refusal.objects.latest("pk")
    return row.act, row.code, row.subject, row.actor


def test_signs_that_no_column_holds_and_things_out_of_sight_hide_no_attempt(
    who: factories.People, house: factories.House, as_: As, give: Give
) -> None:
    review = only_review(house.asked)
    secret = models.Agent.objects.create(name="payroll-secret")
    mine = models.Agent.objects.create(name="mine")
    person = factories.person("lima", "operator", "reviewer")
    models.Scope.objects.create(person=person, agent=mine)
    program, admin, client = give(person), as_(who.admin), as_(person)
    before = standing()

    # NUL and lone surrogates, in what is named and in why it was refused.
    token = token_of(text(admin, reverse("switches")))
    tried = admin.post(reverse("switches"), {"what": "tool:x\x00y", "on": "1", "reason": "z", **token})
    assert tried.status_code == 422
    assert newest() == ("switch.throw", "invalid", "tool:x\\x00y", who.admin)
    attempts.note("x", code="invalid", reason="\ud800", subject="\udcff\x00", by=Actor(user=person))
    assert newest()[2] == "\\udcff\\x00"
    for place in ("runs?agent=%00", "runs?q=%00", "reviews?tool=%00"):
        assert program.get(place).status_code == 422, place
    assert program.post("runs", {"agent": "mine\x00"}).status_code == 422
    assert newest() == ("api.start", "invalid", "api.start", person)

    # What isn't in somebody's scope is as if it weren't there, and an act on it is on record.
    told = program.post("runs", {"agent": secret.name}).json()["detail"]
    assert told == f"There is no agent named '{secret.name}'. Known agents: none yet."
    decision = {"verdict": "approve", "revision": 1, "digest": review.digest}
    assert program.post(f"reviews/{review.pk}/decide", decision).status_code == 404
    assert newest() == ("api.decide", "not_there", f"review {review.pk}", person)
    token = token_of(text(client, reverse("settings")))
    for name, pk, subject in (("review", review.pk, "review"), ("run-stop", house.asked.pk, "run")):
        assert client.post(reverse(name, args=[pk]), token).status_code == 404
        assert newest() == (f"page.{name}", "not_there", f"{subject} {pk}", person)
    for name, guest in (("join", Client()), ("setup", Client()), ("join", Client(enforce_csrf_checks=True))):
        assert guest.post(reverse(name, args=["a-link-s-secret"])).status_code in {403, 404}
        assert newest()[2:] == (f"page.{name}", None)  # whoever reads the trail doesn't get in with it
    count = models.Refusal.objects.count()
    assert client.get(reverse("run", args=[house.asked.pk])).status_code == 404  # an old link is no attempt
    assert models.Refusal.objects.count() == count
    assert standing() == before


def test_the_trail_gives_no_address_away_and_no_name_imitates_another(who: factories.People) -> None:
    """The path of an endpoint is often its secret; full-width letters are the plain ones."""
    by = Actor(user=who.admin)
    row = endpoints.create("https://one.example/hook/s3cret?k=v", about="", kinds=[], form="f", by=by)
    endpoints.switch(row.pk, enabled=False, by=by)
    told = list(
        models.AuditEvent.objects.filter(subject=f"endpoint {row.pk}").values_list("content", flat=True)
    )
    assert [content["host"] for content in told] == ["https://one.example"] * 2
    assert "s3cret" not in str(told)
    with pytest.raises(refusals.Invalid, match="has this user name already"):
        team.invite(username=who.viewer.username.replace("v", "\uff56"), email="", groups=["viewer"], by=by)


def test_a_name_that_no_utf8_carries_hides_no_log() -> None:
    """A tool's result may have half a character in a name; its line is read by programs like any other."""
    at = datetime.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)
    line = record_models.Entry(
        position=1,
        kind="result",
        at=at,
        content={"\ud800": "\u202e\x00"},
        head="",
        checkpoint=None,
        boundary=None,
    )
    said = acts.text(line)
    assert json.loads(said)["content"] == {"\ud800": "\u202e\x00"}
    assert (json.loads(said)["at"], said.isascii()) == ("2026-01-02T03:04:05.000006Z", True)
