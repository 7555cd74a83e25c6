"""The dossier of a run: the page for paper, and the file that a stranger recomputes with a hash function only."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from unittest import mock

import pytest
from django.test import Client
from django.urls import reverse

from runs import models
from runs.selectors import dossier_file, dossier_page
from tests import factories
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import Costly
from tests.pages.conftest import As
from tests.pages.test_pages import queries, text
from tests.rules.branching import checkpoint, redrive, through

pytestmark = pytest.mark.django_db(transaction=True)


# What a stranger writes after having read `how`; nothing of ours is used.


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def link(*parts: Any) -> str:
    raw = [str(part).encode() for part in parts]
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in raw)).hexdigest()


def recomputed(content: bytes) -> dict[str, list[dict[str, Any]]]:
    """Check every digest of the file; return its lines by kind."""
    *lines, last = content.splitlines(keepends=True)
    end = json.loads(last)
    assert end == {
        "kind": "end",
        "lines": len(lines),
        "sha256": hashlib.sha256(b"".join(lines)).hexdigest(),
    }
    rows: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        row = json.loads(line)
        assert canonical(row).encode() + b"\n" == line
        rows.setdefault(row["kind"], []).append(row)
    (head,) = rows["dossier"]
    assert head["input_digest"] == digest(head["input"])
    before = "0" * 64
    for row in rows["entry"]:
        counted = "" if row["counters"] is None else canonical(row["counters"])
        own = (row["run"], row["position"], row["type"], digest(row["content"]))
        before = link(before, *own, row["checkpoint"] or 0, row["boundary"] or "", counted)
        assert row["head"] == before
    assert head["head"] == before
    for row in rows.get("plan", []):
        assert row["digest"] == digest(row["steps"])
    for row in rows.get("action", []):
        assert row["arguments_digest"] == digest(row["arguments"])
        shown = (digest(row["preview"]), digest(row["precondition"]))
        if row["asks"]:
            named = (row["action"], row["revision"], row["tool"], row["contract"], row["arguments_digest"])
            assert row["asks"] == link(*named, *shown)
    seen = {row["seen"] for row in rows["audit"] if row["seen"]}
    for row in rows.get("review", []):
        assert row["card_digest"] == digest(row["card"])
    decided = {row["review"] for row in rows.get("decision", [])}
    assert seen == {row["card_digest"] for row in rows.get("review", []) if row["review"] in decided}
    return rows


def file(client: Client, run: models.Run) -> bytes:
    response = client.get(f"{reverse('run-dossier', args=[run.pk])}?as=jsonl")
    assert response["Content-Disposition"] == f'attachment; filename="run-{run.pk}-dossier.jsonl"'
    return b"".join(response)


def test_the_dossier_holds_everything_and_a_stranger_can_check_it(who: factories.People, as_: As) -> None:
    Costly.balance = 7
    run = go(
        factories.start(who.operator, step("costly", "fée \u202e"), step("lookup", "mail"), title="First")
    )
    answer(only_review(run), who.reviewer, "approve", reason="I looked <i>twice</i>.")
    run = through(run, who.reviewer)
    client = as_(who.auditor)
    rows = recomputed(file(client, run))
    assert {kind: len(found) for kind, found in rows.items() if kind not in {"entry", "audit"}} == {
        "dossier": 1, "plan": 1, "action": 2, "review": 2, "decision": 2, "effect": 2,
    }  # fmt: skip
    fee = rows["action"][0]
    assert fee["precondition"] == {"balance": 7}
    assert fee["policy"] == str(models.PolicyVersion.objects.get())
    assert [row["person"] for row in rows["decision"]] == ["reviewer-1", "reviewer-1"]
    assert [row["act"] for row in rows["audit"]] == list(
        run.audit_events.order_by("seq").values_list("act", flat=True)
    )
    address = reverse("run-dossier", args=[run.pk])
    page = text(client, address)
    for part in (
        "I looked &lt;i&gt;twice&lt;/i&gt;.", fee["arguments_digest"], fee["asks"], rows["review"][0]["card_digest"],
        rows["effect"][0]["key"], run.head, run.input_digest, rows["audit"][0]["hash"], "the same as in the file",
        "policy default v1" if "default v1" in fee["policy"] else str(fee["policy"]), "U+202E",
    ):  # fmt: skip
        assert part in page, part
    one = queries(client, address)
    with mock.patch.object(dossier_page, "SIZE", 1):
        assert queries(client, address) == one <= 24
        assert 'rel="next"' in text(client, address)
    with mock.patch.object(dossier_page, "LARGE", 10):
        assert "too long for a page" in text(client, address)

    doubt = factories.in_doubt(who.operator, who.reviewer)
    answer(only_review(doubt), who.reviewer, "happened", receipt="Seen in the post.")
    recomputed(file(client, go(doubt)))
    assert "said that it happened" in text(client, reverse("run-dossier", args=[doubt.pk]))
    again = through(redrive(run, checkpoint(run, "planned"), who.operator), who.reviewer)
    (later,) = recomputed(file(client, again))["dossier"]
    assert later["goes_on_from"] == again.path

    with mock.patch.object(dossier_file, "CHUNK", 3):  # however it is cut into pieces
        cut = recomputed(file(client, run))
    assert cut["entry"] == rows["entry"]
