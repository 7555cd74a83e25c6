"""Starting a run: fields from the agent's schema, errors next to them, once for each form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from runs import models
from runs.demo import setup as demo
from runs.models import blob
from tests import factories
from tests.pages.conftest import As
from tests.pages.test_decisions import fields

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Answer

pytestmark = pytest.mark.django_db(transaction=True)

FILE, DAY = "receivables.file", "receivables.as_of"
ROWS = (demo.FOLDER / "north.csv").read_bytes()


def opened(client: Client) -> dict[str, str]:
    """Return the start form's hidden fields."""
    return fields(client.get(reverse("runs")).content.decode(), form='name="title"')


def send(client: Client, form: Mapping[str, object], *, htmx: bool = False) -> Answer:
    """Send the form."""
    return client.post(reverse("runs"), form, headers={"HX-Request": "true"} if htmx else {})


def csv(content: bytes = ROWS, name: str = "north.csv") -> SimpleUploadedFile:
    """Return an upload."""
    return SimpleUploadedFile(name, content)


def test_a_file_starts_a_run_once_for_each_form(who: factories.People, as_: As) -> None:
    client = as_(who.operator)
    form = opened(client) | {"agent": "receivables", DAY: "2026-11-27"}
    first = send(client, form | {FILE: csv()})
    again = send(client, form | {FILE: csv()})
    run = models.Run.objects.get()
    assert first.status_code == again.status_code == 303
    assert first["Location"] == again["Location"] == reverse("run", args=[run.pk])
    assert run.title == "Accounts receivable: north.csv"
    assert run.created_by == who.operator
    assert bytes(models.Blob.objects.get(pk=run.input["file"]["sha256"]).content) == ROWS
    assert "Started: Accounts receivable: north.csv" in client.get(first["Location"]).content.decode()


def test_errors_stand_next_to_the_field_and_keep_what_was_typed(who: factories.People, as_: As) -> None:
    client = as_(who.operator)
    form = opened(client) | {"agent": "receivables", "title": "Week 48"}
    cases: list[tuple[dict[str, object], str, str]] = [
        ({DAY: "2026-11-27"}, FILE, "Open invoices: choose a file."),
        ({DAY: "2026-11-27", FILE: csv(b"")}, FILE, "the file &#x27;north.csv&#x27; is empty."),
        ({DAY: "27.11.2026", FILE: csv()}, DAY, "is no date; write it as 2026-12-31."),
        ({DAY: "2026-11-27", FILE: csv(b"x" * (blob.MAX_SIZE + 1))}, FILE, "the limit is 26,214,400."),
    ]
    for given, name, sentence in cases:
        for htmx in (False, True):
            files = {
                key: csv(value.read()) if isinstance(value, SimpleUploadedFile) else value
                for key, value in given.items()
            }
            for value in given.values():
                if isinstance(value, SimpleUploadedFile):
                    value.seek(0)
            response = send(client, form | files, htmx=htmx)
            page = response.content.decode()
            assert response.status_code == 422, given
            found = re.search(
                rf'<p class="error" id="start-{re.escape(name)}-error">(.*?)</p>', page, re.DOTALL
            )
            assert found, name
            assert sentence in found[1]
            assert 'value="Week 48"' in page
            assert ("<html" in page) is not htmx
    long = send(client, form | {"title": "x" * 201, FILE: csv()})
    assert long.status_code == 422
    assert 'id="start-title-error"' in long.content.decode()
    assert send(client, form | {"agent": "missing"}).status_code == 422
    assert not models.Run.objects.exists()


def test_who_may_not_start_has_no_form_and_gets_403(who: factories.People, as_: As) -> None:
    token = opened(as_(who.operator))
    for user in (who.viewer, who.reviewer, who.auditor):
        client = as_(user)
        page = client.get(reverse("runs")).content.decode()
        assert 'name="title"' not in page
        own = fields(page, form=reverse("logout"))
        response = send(client, token | own | {"agent": "receivables", FILE: csv()})
        assert response.status_code == 403
        assert "people in the group “operator” or “admin” can" in response.content.decode()
    assert not models.Run.objects.exists()
