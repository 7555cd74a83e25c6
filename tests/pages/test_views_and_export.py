"""Saved views of the inbox, and what the filters leave as a file that no spreadsheet computes."""

from __future__ import annotations

import csv
import io
import json

import pytest

from runs import models
from runs.selectors import exports
from tests import factories
from tests.engine.conftest import answer
from tests.pages.conftest import As
from tests.pages.test_inbox import INBOX, rows
from tests.pages.test_pages import text

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_view_is_its_owners_to_change_and_everybodys_where_it_is_shared(
    who: factories.People, as_: As
) -> None:
    factories.held(who.operator)
    mine, other = as_(who.reviewer), as_(who.admin)
    mine.handler.enforce_csrf_checks = other.handler.enforce_csrf_checks = False
    assert "Save this view" not in text(mine, INBOX)
    assert "Save this view" in text(mine, f"{INBOX}?tier=2")
    made = mine.post("/inbox/views/", {"name": " Letters <b> ", "query": "tier=2&nonsense=1&done=4"})
    assert (made.status_code, made["Location"]) == (303, f"{INBOX}?tier=2")
    page = text(mine, f"{INBOX}?tier=2")
    assert "Letters &lt;b&gt;" in page
    assert ("Change this view" in page, "Save this view" in page) == (True, False)
    assert "Letters" not in text(other, INBOX)
    for name, query in ((" ", "tier=2"), ("Letters <b>", "tier=1"), ("x", ""), ("y" * 61, "tier=2")):
        refused = mine.post("/inbox/views/", {"name": name, "query": query})
        assert refused.status_code == 422, name
        assert "view-error" in refused.content.decode() or not query
    view = models.SavedView.objects.get()
    place = f"/inbox/views/{view.pk}/"
    assert other.post(place, {"name": "Theirs"}).status_code == 404
    assert other.post(place, {"act": "delete"}).status_code == 404
    assert mine.post(place, {"name": "Out", "shared": "1"}).status_code == 303
    page = text(other, f"{INBOX}?tier=2")
    assert "by reviewer-1" in page
    assert "Change this view" not in page
    assert mine.post(place, {"name": "Letters", "act": "delete"}).status_code == 303
    assert not models.SavedView.objects.exists()


def test_the_export_holds_what_the_list_holds_and_no_formula(
    who: factories.People, as_: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    formula = '=HYPERLINK("https://evil.example","x")'
    first = factories.held(who.operator, name="one", title=formula)
    for n in range(4):
        factories.held(who.operator, name=f"+{n}", tool="idempotent")
    answer(factories.held(who.operator), who.reviewer, "reject", reason="@SUM(1)")
    client = as_(who.reviewer)

    def table(query: str) -> list[list[str]]:
        response = client.get(f"/inbox/export.csv?{query}")
        assert response["Content-Type"] == "text/csv; charset=utf-8"
        assert response["Content-Disposition"].startswith('attachment; filename="inbox-')
        assert "no-store" in response["Cache-Control"]
        return list(csv.reader(io.StringIO(response.getvalue().decode("utf-8-sig"))))

    head, *lines = table("")
    assert (tuple(head), len(lines)) == (exports.WAITING, 5)
    line = dict(zip(head, lines[0], strict=True))
    assert (line["question"], line["run_title"]) == (str(first.pk), f"'{formula}")
    assert json.loads(line["arguments"])["name"] == "one"
    assert not [cell for row in lines for cell in row if cell.startswith(("=", "+", "-", "@"))]
    assert len(table("tool=world.idempotent")) == 5
    decided = table("tab=decided")
    assert dict(zip(decided[0], decided[1], strict=True))["reason"] == "'@SUM(1)"
    found = json.loads(client.get("/inbox/export.json?tool=world.lookup").getvalue())
    assert (found["list"], len(found["rows"]), found["left_out"]) == ("tool=world.lookup", 1, 0)
    assert found["rows"][0]["run_title"] == formula
    monkeypatch.setattr(exports, "CHUNK", 2)
    whole = [row[0] for row in table("")[1:]]
    assert whole == [row[0] for row in lines]  # in chunks, the same rows in the same order
    monkeypatch.setattr(exports, "MOST", 4)
    assert [row[0] for row in table("")[1:]] == [*whole[:4], "1 more rows are left out; narrow the filters"]
    assert rows(text(client, INBOX)) == 5
    assert (exports.safe("\t=1"), exports.safe(" =1"), exports.safe("a=1")) == ("'\t=1", "' =1", "a=1")
    assert exports.safe("\u202ea\x1b[31m\x00\n\ud800é") == "[U+202E]a[U+001B][31m[U+0000]\n[U+D800]é"
