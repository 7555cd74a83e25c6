"""Second factors, sessions and their limits, and asking again who somebody is before something final."""

from __future__ import annotations

import datetime
import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django.core.cache import cache
from django.db.models import F
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from runs import models
from runs.selectors import devices
from runs.transitions import team
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import answer
from tests.pages.conftest import As
from tests.pages.test_decisions import fields, opened

pytestmark = pytest.mark.django_db(transaction=True)

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def acts() -> list[str]:
    """Return what was done, in order."""
    return list(models.AuditEvent.objects.order_by("seq").values_list("act", flat=True))


def later(**times: float) -> None:
    """Move all sessions into the past: `seen_at`, `began_at` and `proved_at` by so many seconds."""
    moved = {name: F(name) - datetime.timedelta(seconds=seconds) for name, seconds in times.items()}
    models.Session.objects.update(**moved)


def code(secret: str, *, step: int = 0) -> str:
    """Return what the app shows now, or so many half minutes from now."""
    return str(totp.format_hotp_value(totp.hotp_value(secret, int(time.time()) // 30 + step)))


def signed_in(person: models.User, agent: str = FIREFOX, *, client: Client | None = None) -> Client:
    """Return a browser in which somebody has signed in by the page."""
    client = client or Client(headers={"User-Agent": agent})
    form = {"username": person.username, "password": factories.PASSWORD}
    assert client.post(reverse("login"), form).status_code == 302
    return client


@pytest.fixture(autouse=True)
def quick(settings: Settings) -> None:
    """A password's hash is dear on purpose; what it costs is not what is tested here."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def paula(transactional_db: None) -> models.User:
    """A reviewer with a password."""
    return factories.person("paula", "reviewer", password=factories.PASSWORD)


def test_an_app_s_codes_recovery_codes_and_the_trail(paula: models.User) -> None:
    client = signed_in(paula)
    place = reverse("mfa_activate_totp")
    page = client.get(place).content.decode()
    assert "data:image/svg+xml" in page
    secret = re.findall(r'<code id="secret">([A-Z2-7]+)</code>', page)[0]
    assert "wrong, or was used" in client.post(place, {"code": "000000"}).content.decode()
    added = client.post(place, {"code": code(secret)})
    assert added["Location"] == reverse("mfa_view_recovery_codes")
    spare = re.findall(r"^(?:.*>)?(\d{8})$", client.get(added["Location"]).content.decode(), re.MULTILINE)
    assert len(spare) == 10
    stored = Authenticator.objects.get(user=paula, type="totp").data
    assert secret not in str(stored)  # a copy of the database gives no secret away

    client.post(reverse("logout"))
    for shown, how in ((code(secret, step=1), "code"), (spare[0], "recovery code")):
        first = client.post(
            reverse("login"), {"username": "paula", "password": factories.PASSWORD, "next": "/runs/"}
        )
        assert first["Location"] == reverse("mfa_authenticate")
        assert client.get("/runs/").status_code == 302  # not in yet
        assert client.post(first["Location"], {"code": "11111111"}).status_code == 422
        client.post(reverse("logout"))  # somebody else, after all
        assert client.get(reverse("mfa_authenticate"))["Location"] == reverse("login")
        client.post(reverse("login"), {"username": "paula", "password": factories.PASSWORD, "next": "/runs/"})
        assert client.post(first["Location"], {"code": shown})["Location"] == "/runs/"
        assert models.AuditEvent.objects.latest("seq").content == {"shown": sorted([how, "password"])}
        client.post(reverse("logout"))
        cache.clear()
    again = signed_in(paula, client=client)
    assert again.post(reverse("mfa_authenticate"), {"code": spare[0]}).status_code == 422  # each works once
    assert again.post(reverse("mfa_authenticate"), {"code": spare[1]}).status_code == 302
    assert "8 are left" in client.get(reverse("mfa_index")).content.decode()
    later(proved_at=16 * 60)  # one's own sign-in changes only for who has just shown who they are
    for name in ("mfa_generate_recovery_codes", "mfa_deactivate_totp", "mfa_activate_totp"):
        assert client.post(reverse(name), {"code": "1"})["Location"].startswith("/prove/"), name
    later(proved_at=-16 * 60)
    client.post(reverse("mfa_generate_recovery_codes"))
    assert "10 are left" in client.get(reverse("mfa_index")).content.decode()
    client.post(reverse("mfa_deactivate_totp"))
    assert not Authenticator.objects.exists()
    wanted = ["person.signed_in", "person.factor_added", "person.signed_out"]
    assert acts()[:3] == wanted
    assert acts()[-2:] == ["person.codes_made", "person.factor_removed"]
    assert ("person.prove", "wrong") in set(models.Refusal.objects.values_list("act", "code"))


def test_who_releases_is_led_to_a_second_factor_where_that_is_required(
    paula: models.User, settings: Settings
) -> None:
    settings.CKPTSITE_REQUIRE_MFA = True
    client, viewer = signed_in(paula), factories.person("vera", "viewer", password=factories.PASSWORD)
    assert client.get("/inbox/")["Location"].startswith(reverse("mfa_index"))
    assert "needs a second factor" in client.get(reverse("mfa_index")).content.decode()
    secret = re.findall(
        r'id="secret">([A-Z2-7]+)<', client.get(reverse("mfa_activate_totp")).content.decode()
    )[0]
    client.post(reverse("mfa_activate_totp"), {"code": code(secret)})
    assert client.get("/inbox/").status_code == 200
    assert signed_in(viewer).get("/inbox/").status_code == 200  # releases nothing


def test_something_final_asks_again_and_nothing_typed_is_lost(
    who: factories.People, paula: models.User
) -> None:
    review = factories.held(who.operator, tool="costly", name="fee")
    place = reverse("review", args=[review.pk])
    client = signed_in(paula)
    form = opened(client, review) | {"reason": "As <b>agreed</b>.", "retype": "1.00"}
    later(proved_at=16 * 60)
    wrong = client.post(place, form | {"retype": "2"})
    assert wrong.status_code == 422  # what would be refused anyway asks for nothing
    asked = client.post(
        place, form, headers={"HX-Request": "true", "HX-Current-URL": f"http://testserver{place}"}
    )
    prove = asked["HX-Redirect"]
    assert prove.startswith(reverse("account_reauthenticate"))
    assert models.Review.objects.get(pk=review.pk).status == "open"
    assert models.Refusal.objects.latest("pk").code == "unproven"
    page = client.get(prove).content.decode()
    assert "more than 15 minutes" in page
    assert f'href="{place}"' in page  # the way back, deciding nothing
    sent = fields(page, form='name="password"')
    assert client.post(prove, sent | {"password": "wrong"}).status_code == 422
    done = client.post(prove, sent | {"password": factories.PASSWORD})
    assert (done.status_code, done["Location"]) == (303, f"/inbox/?done={review.pk}")
    decision = models.Decision.objects.get(review=review)
    assert (decision.person, decision.reason, decision.verdict) == (paula, "As <b>agreed</b>.", "approve")
    assert acts()[-2:] == ["person.proved", "review.approve"]
    # A plain form, and something that can be undone, which asks for nothing.
    second = factories.held(who.operator, tool="costly", name="other")
    form = opened(client, second) | {"retype": "1.00"}
    later(proved_at=16 * 60)
    lesser = factories.held(who.operator, name="letter")
    assert client.post(reverse("review", args=[lesser.pk]), opened(client, lesser)).status_code == 303
    prove = client.post(reverse("review", args=[second.pk]), form)["Location"]
    with_it = fields(client.get(prove).content.decode(), form='name="password"') | {
        "password": factories.PASSWORD
    }
    # Meanwhile somebody else has decided: the page that follows says so, and nothing is decided twice.
    answer(second, who.reviewer, "reject", reason="No.")
    assert client.post(prove, with_it).status_code == 409
    assert models.Decision.objects.get(review=second).verdict == "reject"


def test_sessions_end_by_their_limits_and_by_hand(paula: models.User, who: factories.People, as_: As) -> None:
    here, there, phone = (
        signed_in(paula),
        signed_in(paula),
        signed_in(paula, agent="Mozilla/5.0 (iPhone; x) Safari/605"),
    )
    page = here.get(reverse("sessions")).content.decode()
    for words in ("Firefox on Linux", "Safari on an iPhone", "This session", "127.0.0.1", "End all others"):
        assert words in page, words
    assert "sessionid" not in page
    assert str(here.session.session_key) not in page
    digest = models.Session.objects.get(pk=phone.session.session_key).digest
    other = as_(who.reviewer)
    token = fields(other.get("/inbox/").content.decode(), form="logout")
    assert other.post(reverse("session-end"), token | {"which": digest}).status_code == 409  # not theirs
    later(proved_at=16 * 60)  # whoever sits down at an open page ends nobody's sessions
    assert here.post(reverse("session-end"), {"which": digest})["Location"].startswith("/prove/")
    assert here.post(reverse("session-end"), {"which": "others"})["Location"].startswith("/prove/")
    later(proved_at=-16 * 60)
    assert here.post(reverse("session-end"), {"which": digest}).status_code == 303
    assert phone.get("/inbox/").status_code == 302
    assert here.post(reverse("session-end"), {"which": digest}).status_code == 409
    assert here.post(reverse("session-end"), {"which": "others"}).status_code == 303
    assert there.get("/inbox/").status_code == 302
    assert models.AuditEvent.objects.filter(act="session.ended").count() == 2

    later(seen_at=61 * 60)  # idle for more than an hour
    assert here.get("/inbox/").status_code == 302
    here = signed_in(paula)
    for _ in range(13):  # somebody is there all the time, but not for ever
        later(seen_at=59 * 60, began_at=59 * 60)
        last = here.get("/inbox/")
    assert last.status_code == 302
    here = signed_in(paula)
    later(seen_at=59 * 60)
    here.get(
        "/inbox/?part=rows", headers={"HX-Request": "true"}
    )  # the page refreshes itself: nobody need be there
    later(seen_at=2 * 60)
    assert here.get("/inbox/").status_code == 302


def test_whoever_is_switched_off_or_has_a_new_password_is_out_at_once(
    paula: models.User, who: factories.People, as_: As
) -> None:
    here, there = signed_in(paula), signed_in(paula)
    form = {
        "oldpassword": factories.PASSWORD,
        "password1": "a new one entirely",
        "password2": "a new one entirely",
    }
    refused = here.post(
        reverse("account_change_password"), form | {"oldpassword": "no", "password1": "short"}
    )
    assert "not your present password" in refused.content.decode()
    assert here.post(reverse("account_change_password"), form)["Location"] == reverse("mfa_index")
    assert here.get("/inbox/").status_code == 200
    assert there.get("/inbox/").status_code == 302
    assert models.Session.objects.filter(user=paula).count() == 1
    assert acts()[-1] == "person.password_changed"
    admin = as_(who.admin)
    place = reverse("admin:runs_user_change", args=[paula.pk])
    page = admin.get(place).content.decode()
    later(proved_at=16 * 60)
    token = fields(page, form="logout")
    change = token | {"username": "paula", "email": "paula@example.com"}
    asked = admin.post(place, change)
    assert asked["Location"].startswith(reverse("prove-elsewhere"))  # this one has no password at all
    assert models.User.objects.get(pk=paula.pk).email != "paula@example.com"
    models.Session.objects.filter(user=who.admin).update(proved_at=datetime.datetime.now(datetime.UTC))
    assert admin.post(place, change).status_code == 302
    assert models.User.objects.get(pk=paula.pk).email == "paula@example.com"
    team.switch(paula.pk, on=False, by=Actor(user=who.admin))
    assert not models.Session.objects.filter(user=paula).exists()
    assert here.get("/inbox/").status_code == 302


def test_a_browser_in_words() -> None:
    chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36"
    assert devices.words(chrome) == "Chrome on Windows"
    assert devices.words(f"{chrome} Edg/140.0") == "Edge on Windows"
    assert devices.words("curl/8.5.0") == "curl"
    assert devices.words("<script>") == "A browser that doesn't say what it is"
