"""The audit page: what was done and refused, by whom, on which bytes; narrowed, paged, saved, printed and checked."""

from __future__ import annotations

import csv
import datetime
import io
import json
import re
from typing import Any
from unittest import mock

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from runs import models
from runs.selectors import audit_filters, audit_page, audit_words
from runs.transitions import chain_checks, decisions, desk, refusals, switches
from runs.transitions.actor import Actor
from tests import architecture, factories
from tests.core.tampering import unhindered
from tests.engine.conftest import answer, go
from tests.pages.conftest import As
from tests.pages.test_pages import queries, text

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 20_000


def shown(client: Client, query: str = "") -> list[int]:
    """The numbers of the lines on the page, in their order."""
    page = text(client, f"{reverse('audit')}?{query}")
    parts = page.split('id="line-')[1:]
    return [int(part[: part.index('"')]) for part in parts]


def test_what_was_done_and_what_was_refused(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator, name="=1+1 Müller")
    answer(review, who.reviewer, "approve", reason="Read <b>all</b> of it.")
    other = factories.held(who.operator)
    desk.hand_over(other.pk, who.admin.pk, note="You know them.", by=Actor(user=who.reviewer, ip="10.1.1.1"))
    for stranger in (who.viewer, who.auditor):
        with pytest.raises(refusals.NotYours):
            decisions.withdraw(review.pk, by=Actor(user=stranger, channel="api", ip="10.0.0.9"))
    switches.pause_all(True, by=Actor(user=who.admin), reason="Fire.")
    go(review.run)
    client = as_(who.auditor)
    page = text(client, reverse("audit"))
    decided = models.AuditEvent.objects.get(act="review.approve")
    for part in (
        "Approved: <a",
        "Read &lt;b&gt;all&lt;/b&gt; of it.",
        f"policy {decided.policy_version}",
        str(decided.seen),
        decided.hash,
        decided.content["digest"],
        "10.1.1.1",
        "ckptsite itself" if models.AuditEvent.objects.filter(actor=None).exists() else "Approved",
    ):
        assert part in page, part
    every = list(models.AuditEvent.objects.order_by("-seq").values_list("seq", flat=True))
    assert shown(client) == every
    by = {event.act: event.seq for event in models.AuditEvent.objects.order_by("seq")}
    for query, wanted in (
        ("who=reviewer-1", sorted((by["review.approve"], by["review.handed_over"]), reverse=True)),
        ("who=nobody-of-that-name", []),
        ("who=-", [row.seq for row in models.AuditEvent.objects.filter(actor=None).order_by("-seq")]),
        ("who=*", [row.seq for row in models.AuditEvent.objects.exclude(actor=None).order_by("-seq")]),
        ("act=switch.off", [by["switch.off"]]),
        ("act=nonsense", every),
        (f"run={other.run_id}", [row.seq for row in other.run.audit_events.order_by("-seq")]),
        (f"run={other.run_id}&lineage=1", [row.seq for row in other.run.audit_events.order_by("-seq")]),
        (f"run={10**17}", []),
        (f"run={10**17}&lineage=1", []),
        (f"run={10**30}&lineage=1&channel=x", every),
        (f"object=review+{review.pk}", [by["review.approve"]]),
        ("channel=shell", []),
        ("since=2020-01-01&until=9998-12-31", every),
        ("since=9990-01-01", []),
        ("until=1999-12-31", []),
        ("since=2020-13-01&until=yesterday&who=%00", every),
        (f"before={every[0]}", every[1:]),
        (f"after={every[1]}", every[:1]),
    ):
        assert shown(client, query) == wanted, query
    tried = list(models.Refusal.objects.order_by("-pk").values_list("pk", flat=True))
    assert shown(client, "refused=1") == tried
    assert (
        shown(client, "refused=1&who=viewer-1&act=review.withdraw&channel=api&since=2020-01-01") == tried[1:]
    )
    refused = text(client, f"{reverse('audit')}?refused=1")
    for part in (
        "Take an approval back",
        "Not theirs",
        "You may not take this approval back",
        "10.0.0.9",
        "api",
    ):
        assert part.replace("api", "API") in refused, part
    assert set(audit_words.ACTS) >= {
        f"review.{name}" for names in decisions.ANSWERS.values() for name in names
    }
    assert set(audit_words.TRIED) | {"person.sign_in"} >= set(
        models.Refusal.objects.values_list("act", flat=True)
    )

    one = queries(client, reverse("audit"))
    with mock.patch.object(audit_page, "SIZE", 2):
        assert shown(client) == every[:2]
        assert 'rel="next"' in text(client, reverse("audit"))
        assert queries(client, reverse("audit")) == one <= 16
    paper = text(client, f"{reverse('audit')}?print=1&run=7&act=review.approve&channel=page")
    assert "Only “Approved”, of run 7, by way of page. Made " in paper
    assert "<details open>" in text(client, f"{reverse('audit')}?print=1")
    _saved(client, decided)
    assert 'href="/audit/"' not in text(as_(who.reviewer), reverse("inbox"))
    assert f"object=review%20{review.pk}" in text(client, reverse("review", args=[review.pk]))
    assert f"?run={review.run_id}&amp;lineage=1" in text(client, reverse("run", args=[review.run_id]))


def _saved(client: Client, decided: models.AuditEvent) -> None:
    """The same as files: every line, the oldest first, and no formula."""
    response = client.get(f"{reverse('audit')}?as=jsonl")
    assert response["Content-Disposition"] == 'attachment; filename="audit.jsonl"'
    lines = [json.loads(line) for line in b"".join(response).decode().splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, models.AuditHead.objects.get(pk=1).seq + 1))
    (line,) = [line for line in lines if line["act"] == "review.approve"]
    assert (line["actor"], line["hash"], line["content"]) == ("reviewer-1", decided.hash, decided.content)
    models.Refusal.objects.create(
        act="review.decide", code="stale", reason="=HYPERLINK(1)", subject="x", channel="page"
    )
    response = client.get(f"{reverse('audit')}?as=csv&refused=1&act=review.decide")
    (row,) = csv.DictReader(io.StringIO(b"".join(response).decode("utf-8-sig")))
    assert (row["reason"], row["actor"]) == ("'=HYPERLINK(1)", "")


def test_each_act_has_words() -> None:
    """What is written to the trail anywhere in the source is called by words on the page, and so is what was tried."""
    found: dict[str, set[str]] = {"act": set(), "tried": set()}
    for path in architecture.modules("runs"):
        source = path.read_text(encoding="utf-8")
        found["act"] |= set(re.findall(r'audit\.append\(\s*"([a-z_.]+)"', source))
        found["tried"] |= set(re.findall(r'attempts\.noted\(\s*"([a-z_.]+)"', source))
    assert len(found["act"]) > 20
    assert found["act"] - set(audit_words.ACTS) == set()
    assert found["tried"] - set(audit_words.TRIED) == set()


def test_like_stands_beside_like_in_words() -> None:
    """A version beside a version, never beside a digest; and how far logs are vouched for is no list of numbers."""
    changed = audit_words.changes({"before": 1, "version": 2, "digest": "f" * 64})
    assert [(one.before, one.after) for one in changed] == [("1", "2")]
    (fact,) = audit_words.facts({"runs": [[5, 30, "f" * 64], [6, 2, "e" * 64]]})
    assert fact.value == "run 5 up to line 30, run 6 up to line 2"


def test_the_chain_is_checked_piece_by_piece(who: factories.People, as_: As) -> None:
    for number in range(3):
        switches.pause_all(not number % 2, by=Actor(user=who.admin), reason="x")
    client = as_(who.auditor)
    client.handler.enforce_csrf_checks = False
    check = reverse("audit-check")
    assert "Nobody has asked here yet" in text(client, reverse("audit"))
    asked = client.post(check, {"whole": "1", "at": "act=switch.on"})
    assert (asked.status_code, asked["Location"]) == (303, f"{reverse('audit')}?act=switch.on")
    assert client.post(check, {"whole": "1"}).status_code == 409
    assert "Nobody has asked here yet" not in text(client, reverse("audit"))
    assert "It is being checked: line 0 of 4" in text(client, f"{reverse('audit')}?part=chain")
    with mock.patch.object(chain_checks, "BATCH", 3):
        assert chain_checks.step() == 3
        assert "It is being checked: line 3 of 4" in text(client, reverse("audit"))
        assert chain_checks.step() == 1
    assert chain_checks.step() == 0
    page = text(client, reverse("audit"))
    assert "Lines 1 to 4 agree, checked" in page
    assert "for auditor-1" in page
    assert client.post(check).status_code == 303
    assert "1 came since" in text(client, reverse("audit"))
    assert chain_checks.step() == 1
    assert "Lines 5 to 5 agree" in text(client, reverse("audit"))

    changes = (
        ({"act": "other"}, 2, "Line 2 was changed"),
        ({"seq": 9}, 2, "Line 2 is missing"),
        ({"previous": "0" * 63 + "1"}, 3, "follow the one before it"),
        ({"seq": 9}, 5, "Line 5 is missing"),
    )
    for change, seq, sentence in changes:
        with unhindered():
            models.ChainCheck.objects.create(asked_by=who.auditor)
            models.AuditEvent._base_manager.filter(seq=seq).update(**change)
            row = models.ChainCheck.objects.latest("pk")
            head = models.AuditHead.objects.get(pk=1)
            assert sentence in chain_checks._follow(row, head), sentence
    models.ChainCheck.objects.create(asked_by=who.auditor)
    with unhindered():
        models.AuditHead.objects.update(hash="0" * 64)
        row = models.ChainCheck.objects.latest("pk")
        head = models.AuditHead.objects.get(pk=1)
        assert chain_checks._follow(row, head) == ""
        assert "The chain ends at line 5" in chain_checks._ends_elsewhere(row, head)


@pytest.fixture
def long_trail(who: factories.People) -> None:
    """A chain as long as years make it: rows with every column, but no true hashes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO runs_auditevent (seq, at, actor_id, act, subject, content, channel, ip, previous, hash)"
            " SELECT n, now() - make_interval(mins => %s - n), CASE WHEN n %% 50 = 0 THEN %s END,"
            " CASE WHEN n %% 500 = 0 THEN 'switch.off' ELSE 'run.succeeded' END, 'run ' || n, '{}',"
            " CASE WHEN n %% 400 = 0 THEN 'page' ELSE 'engine' END, NULL,"
            " sha256(('p' || n)::bytea), sha256(n::text::bytea) FROM generate_series(1, %s) AS n",
            [MANY, who.admin.pk, MANY],
        )
        cursor.execute("ANALYZE runs_auditevent")


def test_a_long_trail_is_read_by_its_indexes(who: factories.People, long_trail: None) -> None:
    day, one = datetime.datetime.now(datetime.UTC).date(), datetime.timedelta(days=1)
    for query, most in (
        ({}, 60),
        ({"act": "switch.off"}, 60),
        ({"who": "admin-1"}, 60),
        ({"object": "run 7"}, 2),
        ({"channel": "page"}, 60),
        ({"run": "7"}, 1),
        ({"since": str(day - 9 * one), "until": str(day - 8 * one)}, 60),
    ):
        rows = audit_filters.events(audit_filters.read(query), frozenset()).order_by("-seq")[
            : audit_page.SIZE + 1
        ]
        plan = json.loads(rows.explain(format="json", analyze=True))[0]["Plan"]
        assert "Seq Scan" not in json.dumps(plan), query
        assert _touched(plan) <= most, (query, plan)


def _touched(plan: dict[str, Any]) -> int:
    """How many rows the plan has read and thrown away, or returned."""
    own = int(plan["Actual Rows"]) + int(plan.get("Rows Removed by Filter", 0))
    return max([own, *map(_touched, plan.get("Plans", []))])
