"""What a token is, and everything that it can't do."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from runs import exact, models
from runs.transitions import decisions, refusals, tokens
from runs.transitions.actor import Actor
from tests import factories
from tests.api.conftest import Give, Program
from tests.core.test_tampering import found
from tests.engine.conftest import go, only_review

pytestmark = pytest.mark.django_db(transaction=True)


def seen(program: Program, review: models.Review) -> dict[str, object]:
    """Return what an answer has to name, as the program has read it."""
    shown = program.get(f"reviews/{review.pk}").json()
    return {name: shown[name] for name in ("revision", "digest", "evidence_number", "seen")}


def test_only_the_digest_is_kept_and_an_end_is_an_end(who: factories.People, give: Give) -> None:
    program = give(who.operator)
    token = program.token
    assert token is not None
    assert token.digest == exact.digest_bytes(program.secret.encode())
    kept = [str(value) for value in models.ApiToken.objects.filter(pk=token.pk).values_list().get()]
    assert not any(program.secret in value for value in kept)
    assert program.get("me").status_code == 200
    token.refresh_from_db()
    used = token.used_at
    assert used is not None
    program.get("me")
    token.refresh_from_db()
    assert token.used_at == used  # at most once a minute
    for secret in ("", "ckpt_", program.secret[:-1], f"{program.secret} ", program.secret.upper(), "x\udc80"):
        answer = Program(None, secret.encode("utf-8", "replace").decode()).get("me")
        assert (answer.status_code, answer.json()["title"]) == (401, "Unauthorized"), secret
        assert answer["WWW-Authenticate"].startswith("Bearer")
    tried = models.Refusal.objects.filter(act="api.me", code="no_token")
    assert [(row.channel, row.actor) for row in tried] == [("api", None)] * 5
    models.ApiToken.objects.update(created_at=timezone.now() - timedelta(days=2))
    models.ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert program.get("me").status_code == 401
    other = give(who.operator)
    models.User.objects.filter(pk=who.operator.pk).update(is_active=False)
    assert other.get("me").status_code == 401


def test_a_token_is_never_more_than_its_person(who: factories.People, give: Give) -> None:
    review = factories.held(who.operator)
    person = give(who.reviewer)
    assert person.get("me").json()["may"] == ["view", "decide", "pause", "stop"]
    who.reviewer.groups.clear()
    assert person.get("me").status_code == 404
    assert person.post(f"reviews/{review.pk}/decide", {"verdict": "approve"}).status_code in {404, 422}
    by = Actor(user=who.viewer)
    with pytest.raises(refusals.NotYours):
        tokens.create(name="x", kind="person", acts=["start"], days=7, form="a", by=by)
    for kind in ("agent", "service"):
        for act in (
            "decide",
            "redrive",
            "resume",
            "answer_failure",
            "raise_budget",
            "people",
            "switch",
            "nonsense",
        ):
            with pytest.raises(refusals.Invalid):
                tokens.create(name="x", kind=kind, acts=[act], days=7, form="b", by=Actor(user=who.admin))
    with pytest.raises(refusals.Invalid):
        tokens.create(name="x", kind="person", acts=["people"], days=7, form="c", by=Actor(user=who.admin))
    program = give(who.admin)
    with pytest.raises(refusals.NotYours):  # no token makes or ends a token
        tokens.create(
            name="x", kind="agent", acts=[], days=7, form="d", by=Actor(user=who.admin, token=program.token)
        )
    narrow = give(who.admin, "view", "stop")
    assert narrow.get("me").json()["may"] == ["view", "stop"]
    refused = narrow.post(f"runs/{review.run_id}/pause")
    assert (refused.status_code, "This token is not for that" in refused.json()["detail"]) == (403, True)


def test_a_program_never_decides_and_opens_no_page(
    who: factories.People, give: Give, house: factories.House
) -> None:
    for kind in ("agent", "service"):
        program = give(who.admin, kind=kind)
        for run in (house.asked, house.final, house.doubt, house.failed):
            review = only_review(run)
            wanted = ("approve", "reject", "happened", "absent_do", "retry", "stop", "raise", "answer")
            said = seen(program, review)
            for verdict in wanted if kind == "agent" else wanted[:2]:
                answer = program.post(f"reviews/{review.pk}/decide", {"verdict": verdict, **said})
                assert answer.status_code == 403, (kind, verdict)
            # Past the door too: the transition itself asks the same function.
            row = models.ApiToken.objects.select_related("person").get(pk=program.token.pk)  # type: ignore[union-attr]
            row.person.through = row.acts
            answered = decisions.Answer(
                verdict="approve",
                revision=review.revision,
                digest=review.digest,
                token=f"{kind}{review.pk}",
                reason="x",
            )
            with pytest.raises(refusals.NotYours):
                decisions.decide(review.pk, answered, by=Actor(user=row.person, token=row, channel="api"))
        assert program.post(f"runs/{house.paused.pk}/resume").status_code == 403
        assert (
            program.post(f"runs/{house.failed.pk}/redrive", {"checkpoint": 1, "reason": "x"}).status_code
            == 403
        )
    assert not models.Decision.objects.filter(channel="api").exists()
    refused = models.Refusal.objects.filter(act="api.decide", actor=who.admin, on_behalf_of=who.admin)
    assert refused.count() > 20

    # No page takes a token in, not even beside a session; and no cookie opens the API.
    review = only_review(house.asked)
    client = Client()
    client.force_login(who.admin)
    for place in (
        reverse("inbox"),
        reverse("review", args=[review.pk]),
        reverse("tokens"),
        reverse("events"),
    ):
        assert client.get(place, headers=program.headers()).status_code == 403
        assert client.post(place, {"verdict": "approve"}, headers=program.headers()).status_code in {403, 405}
    assert client.get("/api/v1/me").status_code == 401
    assert client.post("/api/v1/runs", "{}", content_type="application/json").status_code == 401


def test_what_is_final_is_released_on_its_page(
    who: factories.People, give: Give, house: factories.House
) -> None:
    review = only_review(house.final)
    person = give(who.reviewer)
    shown = person.get(f"reviews/{review.pk}").json()
    said = {
        "verdict": "approve",
        "reason": "Read.",
        "retype": shown["retype"]["value"],
        **seen(person, review),
    }
    refused = person.post(f"reviews/{review.pk}/decide", said)
    assert (refused.status_code, "signed in" in refused.json()["detail"]) == (403, True)
    done = person.post(f"reviews/{review.pk}/decide", {**said, "verdict": "reject"})
    assert (done.status_code, done.json()["status"]) == (200, "rejected")


def test_a_revoked_token_takes_its_approvals_back(who: factories.People, give: Give) -> None:
    review = factories.held(who.operator)
    person = give(who.reviewer)
    said = {"verdict": "approve", "reason": "Read.", **seen(person, review)}
    assert person.post(f"reviews/{review.pk}/decide", said).status_code == 200
    epoch = models.Installation.objects.get().gate_epoch
    assert person.token is not None
    stranger = Client()
    stranger.force_login(who.operator)
    assert stranger.post(reverse("token-revoke", args=[person.token.pk])).status_code == 404
    boss = Client()
    boss.force_login(who.admin)
    assert person.token.prefix in boss.get(reverse("tokens") + "?of=everybody").content.decode()
    assert boss.post(reverse("token-revoke", args=[person.token.pk])).status_code == 303
    assert boss.post(reverse("token-revoke", args=[person.token.pk])).status_code == 409
    assert models.Installation.objects.get().gate_epoch == epoch + 1
    run = go(review.run)
    asked = only_review(run)
    assert (run.status, asked.status, asked.pk == review.pk) == ("waiting", "open", False)
    assert not models.Occurrence.objects.filter(root=run.root_id).exists()
    assert person.post(f"reviews/{asked.pk}/decide", said).status_code == 401
    assert found() == ""


def test_the_page_that_makes_tokens(who: factories.People) -> None:
    client = Client()
    client.force_login(who.operator)
    place = reverse("tokens")
    form = {
        "form": "one",
        "name": " <b>CI</b>\u202e ",
        "kind": "service",
        "acts": ["start", "stop"],
        "days": "30",
    }
    made = client.post(place, form)
    secret = made.content.decode().partition('<code id="secret">')[2].partition("<")[0]
    assert (made.status_code, secret.startswith("ckpt_")) == (200, True)
    assert "no-store" in made["Cache-Control"]
    assert "<b>CI" not in made.content.decode()
    assert "\u202e" not in made.content.decode()
    assert Program(None, secret).get("me").json()["token"]["acts"] == ["start", "stop", "view"]
    again = client.post(place, form)  # the page loaded again
    assert (again.status_code, secret in again.content.decode()) == (409, False)
    for wrong, status in (
        ({"name": ""}, 422), ({"kind": ""}, 422), ({"kind": "god"}, 422), ({"days": "9999"}, 422),
        ({"acts": ["decide"]}, 422), ({"acts": ["decide"], "kind": "person"}, 403), ({"name": "\x00"}, 422),
        ({"form": ""}, 422),
    ):  # fmt: skip
        answer = client.post(place, {**form, "form": "two", **wrong})
        assert answer.status_code == status, wrong
    assert models.ApiToken.objects.count() == 1
