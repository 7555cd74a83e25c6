"""Every route for every role: who sees, who may, and who learns nothing."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver, reverse
from django.urls.resolvers import URLPattern

from runs import models
from runs.engine import run_imports
from runs.transitions.actor import Actor
from tests import elsewhere, factories
from tests.engine.conftest import only_review
from tests.pages.conftest import As

pytestmark = pytest.mark.django_db(transaction=True)

SEEING = ("viewer", "reviewer", "operator", "admin", "auditor")
OPEN_TO_ALL = {
    "logout": 405,
    "healthz": 200,
    "readyz": 503,  # no clock is running
    "metricsz": 404,  # there is no token for it
    "home": 302,
    "setup": 404,
    "join": 404,
    "slack": 405,
    "single-sign-on": 405,
    "openid_connect_callback": 404,  # there is no identity provider
    # Who is signed in already is led on.
    **dict.fromkeys(
        ("login", "account_login", "account_inactive", "mfa_authenticate", "mfa_login_webauthn"), 302
    ),
}
OF_NOTHING = (
    "view-save", "audit-check", "notice-test", "notices-seen", "slack-link", "outgoing-member", "session-end",
    "mfa_generate_recovery_codes",
)  # fmt: skip
"""Acts whose address names nothing."""
ONLY_POST = {
    "review-withdraw": {"reviewer", "admin"},
    "review-answer": {"reviewer", "admin"},
    "review-extend": {"reviewer", "admin"},
    "view-save": set(SEEING),
    "view-change": set(SEEING),
    "review-snooze": {"reviewer", "admin"},
    "review-wake": set(SEEING),
    "review-hand-over": {"reviewer", "admin"},
    "run-pause": {"reviewer", "operator", "admin"},
    "run-resume": {"operator", "admin"},
    "run-stop": {"reviewer", "operator", "admin"},
    "run-retry": {"operator", "admin"},
    "mcp-accept": {"admin"},
    "mcp-look": {"admin"},
    "agent-use": {"admin"},
    "agent-note": {"operator", "admin"},
    "agent-try-on": {"operator", "admin"},
    "run-undo": {"reviewer", "operator", "admin"},
    "run-verify": {"reviewer", "operator", "auditor", "admin"},
    "run-take-over": {"operator", "admin"},
    "audit-check": {"auditor", "admin"},
    "delegation-end": set(SEEING),
    "shift-end": {"admin"},
    "token-revoke": set(SEEING),
    "session-end": set(SEEING),
    "mfa_remove_webauthn": set(SEEING),
    "mfa_generate_recovery_codes": set(SEEING),
    "notice-test": set(SEEING),
    "notices-seen": set(SEEING),
    "slack-link": {"reviewer", "operator", "admin"},
    "outgoing-member": {"admin"},
    "endpoint-act": {"admin"},
    "delivery-again": {"admin"},
}
NOTHING_TO_SHOW = {
    "account_reauthenticate": 403,  # these people have no password
    "mfa_reauthenticate": 403,
    "mfa_reauthenticate_webauthn": 403,
    "account_change_password": 404,
    "mfa_deactivate_totp": 404,
    "mfa_view_recovery_codes": 404,
}
"""Pages about what these people don't have."""
AUDITED = {"audit", "run-dossier"}
STREAM = "events"  # has tests of its own: it lasts for minutes


def routes() -> list[str]:
    """Return the name of every route that is ours."""
    return sorted(
        {
            pattern.name
            for pattern in get_resolver().url_patterns
            if isinstance(pattern, URLPattern) and pattern.name
        }
    )


def address(name: str, house: factories.House) -> str:
    """Return an address of the route that leads to something that is there."""
    if name in {"setup", "join"}:
        return reverse(name, args=["forged"])
    if name.startswith("review"):
        return reverse(name, args=[only_review(house.asked).pk])
    if name == "mcp-look":
        return reverse(name, args=["nobody"])
    if name == "tool":
        return reverse(name, args=["world.lookup"])
    if name in {"agent-try", "agent-try-on", "agent-note"}:
        return reverse(name, args=[house.asked.agent_version.agent.name, 1])
    if name in {"budget-agent", "agent-memory", "agent", "agent-edit", "agent-use"}:
        return reverse(name, args=[house.asked.agent_version.agent.name])
    if name == "run-file":
        given = models.Run.objects.filter(title__startswith="Open invoices").first()
        given = given or factories.demo_run(house.asked.created_by)
        return reverse(name, args=[given.pk, given.input["file"]["sha256"]])
    if name == "person":
        return reverse(name, args=[house.asked.created_by_id])
    if name in {"imported-run", "imported-line"}:
        record = models.ImportedRun.objects.first() or _imported(house)
        return reverse(name, args=[record.pk, 1] if name == "imported-line" else [record.pk])
    if name == "openid_connect_callback":
        return reverse(name, args=["sso"])
    if name in {
        "mcp-accept", "view-change", "token-revoke", "delegation-end", "shift-end", "endpoint-act", "delivery-again",
        "mfa_remove_webauthn",
    }:  # fmt: skip
        return reverse(name, args=[1])
    if name in {"run-entry", "run-checkpoint", "run-state"}:
        return reverse(name, args=[house.asked.pk, 1])
    if name == "run" or name.startswith("run-"):
        return reverse(name, args=[house.asked.pk])
    return reverse(name)


def _imported(house: factories.House) -> models.ImportedRun:
    admin = models.User.objects.filter(groups__name="admin").first()
    content = io.BytesIO(elsewhere.file(house.done))
    return run_imports.bring(content, source="run.jsonl", by=Actor(user=admin))


def expected(name: str, role: str) -> int:
    """Return the status of a GET of the route by somebody of the role."""
    if name in OPEN_TO_ALL:
        return OPEN_TO_ALL[name]
    if name in {"run-dry", "review-break-glass"} and (name == "run-dry" or role in {"admin", "nobody"}):
        return 404  # the run of the house is for real, and glass isn't broken here
    if name == "review-break-glass":
        return 403
    if name in ONLY_POST:
        return 404 if role == "nobody" and name.startswith("mfa_") else 405
    if name in NOTHING_TO_SHOW and role in SEEING:
        return NOTHING_TO_SHOW[name]
    if name == "batch" and role in SEEING:
        return 200 if role in {"reviewer", "admin"} else 403
    if (
        name in {"run-redrive", "run-separate", "run-plan-edit", "runs-redrive", "agent-try"}
        and role in SEEING
    ):
        return 200 if role in {"operator", "admin"} else 403
    if name in {"system", "storage"} and role in SEEING:
        return 200 if role in {"operator", "auditor", "admin"} else 403
    if name in AUDITED and role in SEEING:
        return 200 if role in {"auditor", "admin"} else 403
    if (
        name in {"policies-edit", "person", "outgoing", "secrets", "agent-new", "agent-edit"}
        and role in SEEING
    ):
        return 200 if role == "admin" else 403
    if name == "review-edit" and role in SEEING:
        return 200 if role in {"reviewer", "admin"} else 403
    return 200 if role in SEEING else 404


def test_every_route_for_every_role(who: factories.People, house: factories.House, as_: As) -> None:
    for role in (*SEEING, "nobody"):
        client = as_(who.named(role))
        found = {name: client.get(address(name, house)).status_code for name in routes() if name != STREAM}
        assert found == {name: expected(name, role) for name in routes() if name != STREAM}, role


def test_nobody_signed_in_is_led_to_the_sign_in_page(house: factories.House) -> None:
    client = Client()
    for name in routes():
        if name in OPEN_TO_ALL or name in ONLY_POST or name == STREAM:
            continue
        place = address(name, house)
        response = client.get(place)
        assert response.status_code == 302, name
        assert response["Location"] == f"{reverse('login')}?next={place}"
        fragment = client.get(
            place, headers={"HX-Request": "true", "HX-Current-URL": f"http://testserver{place}"}
        )
        assert fragment.status_code == 200
        assert fragment["HX-Redirect"].startswith(f"{reverse('login')}?next=")
        # What refreshes itself stays where it is: somebody may be typing beside it.
        part = client.get(f"{place}?part=live", headers={"HX-Request": "true"})
        assert (part.status_code, part.content, part["HX-Reswap"]) == (401, b"", "none")


@pytest.mark.parametrize("name", sorted(ONLY_POST))
def test_acts_by_role(name: str, who: factories.People) -> None:
    about_runs = name.startswith(("review-", "run-"))
    review = factories.held(who.operator) if about_runs else models.Review(pk=1, run_id=1)
    for role in (*SEEING, "nobody"):
        client = Client()
        client.force_login(who.named(role))
        own: dict[str, list[Any]] = {
            "agent-note": ["receivables", 1],
            "agent-try-on": ["receivables", 1],
            **{key: [] for key in OF_NOTHING},
        }
        args = own.get(name, [review.pk if name.startswith("review-") else review.run_id])
        response = client.post(reverse(name, args=args), {"reason": "because"})
        if role == "nobody":
            assert response.status_code == 404
        elif role not in ONLY_POST[name]:
            assert response.status_code == 403
            assert "people in the group" in response.content.decode()
        elif name in {"run-resume", "review-withdraw", "review-wake", "review-answer", "session-end"}:
            assert response.status_code == 409  # isn't paused, isn't approved, isn't put off, no question
        elif name == "audit-check":
            assert response.status_code == (303 if role == "admin" else 409)  # it is under way for the second
        elif name == "slack-link":
            assert response.status_code == 200  # a code, on this one answer
        elif name == "delivery-again":
            assert response.status_code == 409  # there is none that was given up
        elif name in {
            "run-undo", "run-retry", "run-take-over", "run-verify", "view-change", "token-revoke", "delegation-end",
            "shift-end", "endpoint-act",
            "mfa_remove_webauthn", "mcp-accept", "mcp-look", "agent-use", "agent-note",
        }:  # fmt: skip
            assert response.status_code == 404  # nothing of that number is there
        elif name in {
            "review-snooze",
            "review-hand-over",
            "view-save",
            "notice-test",
            "outgoing-member",
            "agent-use",
        }:
            assert response.status_code == 422  # no time, nobody, nothing named
        else:
            assert response.status_code == 303
        if response.status_code == 303 and about_runs:  # whoever is refused leaves it as it was for the next
            review = factories.held(who.operator)


def test_a_form_of_a_lost_session_comes_back_to_its_page(who: factories.People) -> None:
    place, page = reverse("run-stop", args=[7]), reverse("run", args=[7])
    client = Client()
    for referer, back in (
        (f"http://testserver{page}", page),
        ("https://elsewhere.example/", reverse("inbox")),
    ):
        response = client.post(place, {"reason": "x"}, headers={"Referer": referer})
        assert response["Location"] == f"{reverse('login')}?next={back}"
        part = client.post(place, headers={"HX-Request": "true", "HX-Current-URL": referer})
        assert part["HX-Redirect"] == f"{reverse('login')}?next={back.replace('/', '%2F')}"


def test_what_is_not_there_is_404_for_everybody(who: factories.People, as_: As) -> None:
    for role in (*SEEING, "nobody"):
        client = as_(who.named(role))
        for name in ("run", "review", "run-plan", "run-transcript", "run-effects", "run-usage"):
            assert client.get(reverse(name, args=[987_654])).status_code == 404
        assert client.get(f"/runs/{10**25}/").status_code == 404
