"""Files that tools make: kept with the receipt, shown with it, and served so that none of them can act."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from django.urls import reverse

from runs import models
from runs.engine import verifier
from runs.selectors import attachments
from runs.tools import contract, filerefs, registry
from tests import factories
from tests.engine.conftest import go, step
from tests.pages.conftest import As
from tests.pages.test_pages import text
from tests.rules.branching import through

pytestmark = pytest.mark.django_db(transaction=True)

PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(40)
SCRIPT = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
LIST = "invoice,customer\n7,<b>Müller\u202e</b>\n".encode() + b"8,x\n" * 20
FILES = (("shot.png", PIXEL), ("../../evil.png", SCRIPT), ("list.csv", LIST))


@pytest.fixture
def makes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A read and an effect of the test world make files and name them in their values."""

    def attaching(tool: type[contract.Tool]) -> None:
        plain = tool.run

        def run(self: contract.Tool, args: Any, ctx: contract.Context) -> contract.Receipt:
            receipt = plain(self, args, ctx)
            made = [ctx.attach(name, content).model_dump() for name, content in FILES]
            return contract.Receipt(summary=receipt.summary, value={"made": made})

        monkeypatch.setattr(tool, "run", run)

    attaching(type(registry.get("world.look")))
    attaching(type(registry.get("world.lookup")))


@pytest.mark.usefixtures("makes")
def test_files_are_kept_shown_and_served_as_nothing_but_bytes(who: factories.People, as_: As) -> None:
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in FILES}
    lies = {"const": {"sha256": digests["list.csv"]}}  # names no file, and stands before the line that does
    never = {"id": "never", "title": "Never", "if": "false", "ask": {"question": "?", "schema": lies}}
    steps = (never, step("look", "it"), step("lookup", "mail"))
    run = through(factories.start(who.operator, *steps), who.reviewer)
    assert run.status == "succeeded", run.error
    client = as_(who.viewer)
    for name in ("run", "run-transcript", "run-effects"):
        page = text(client, reverse(name, args=[run.pk]))
        for digest in digests.values():
            assert reverse("run-file", args=[run.pk, digest]) in page, name
        assert "\u202e" not in page
    page = text(client, reverse("run-transcript", args=[run.pk]))
    assert '<th scope="col">customer</th>' in page
    assert "&lt;b&gt;Müller" in page
    assert "There is more in the file." in page
    assert reverse("run-file", args=[run.pk, digests["list.csv"]]) in text(client, reverse("effects"))

    def get(name: str, show: str = "", of: models.Run = run) -> Any:
        return client.get(reverse("run-file", args=[of.pk, digests[name]]) + show)

    shown = get("shot.png", "?show=1")
    assert (shown.content, shown["Content-Type"]) == (PIXEL, "image/png")
    assert shown["Content-Disposition"] == 'inline; filename="shot.png"'
    for response in (shown, get("shot.png"), get("../../evil.png", "?show=1"), get("list.csv", "?show=1")):
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
    trick = get("../../evil.png", "?show=1")
    assert trick["Content-Type"] == "application/octet-stream"
    assert trick["Content-Disposition"] == 'attachment; filename="evil.png"'
    assert get("list.csv").content == LIST
    other = go(factories.start(who.operator, step("lookup", "else")))
    assert get("list.csv", of=other).status_code == 404  # its log doesn't name it
    assert client.get(reverse("run-file", args=[run.pk, "0" * 64])).status_code == 404
    assert client.get(reverse("run-file", args=[run.pk, "%25"])).status_code == 404
    assert as_(who.nobody).get(reverse("run-file", args=[run.pk, digests["list.csv"]])).status_code == 404
    verifier.verify()


def test_the_demo_makes_the_list_of_who_is_overdue(who: factories.People, as_: As) -> None:
    run = go(factories.demo_run(who.operator))
    page = text(as_(who.viewer), reverse("run-transcript", args=[run.pk]))
    assert "overdue-2026-11-27.csv" in page
    assert '<th scope="col">days_late</th>' in page


def test_a_call_makes_no_more_than_its_share() -> None:
    made = filerefs.Made()
    for number in range(filerefs.MOST_FILES):
        made.add(f"{number}.txt", b"%d" % number)
    made.add("same.txt", b"0")
    with pytest.raises(ValueError, match="20 files at most"):
        made.add("one.txt", b"more")
    with pytest.raises(ValueError, match="20 files at most"):
        filerefs.Made().add("large.bin", bytes(filerefs.MOST_BYTES + 1))
    assert len(made.contents()) == filerefs.MOST_FILES


def test_the_head_of_a_table_is_small() -> None:
    wide = ";".join("c" * 200 for _ in range(30)).encode()
    rows, more = attachments.table(b"\n".join([wide] * 50), whole=True)
    assert (len(rows), len(rows[0]), len(rows[0][0]), more) == (9, 8, 80, True)
    assert attachments.table(b"a,b\n1,2\n3,", whole=False) == ((("a", "b"), ("1", "2")), True)
    assert attachments.table(b"", whole=True) == ((), False)
