"""Labels of a run: given at its start by page, API and shell, shown, looked for, kept by branches and vouched for."""

from __future__ import annotations

import io
from collections.abc import Mapping

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from runs import labelling, models
from runs.demo import setup as demo
from runs.engine import verifier
from runs.models import alike
from tests import factories
from tests.api.conftest import Give, give
from tests.api.test_path import invoices
from tests.core import tampering
from tests.engine.conftest import go
from tests.pages.conftest import As
from tests.pages.test_start import DAY, FILE, csv, opened, send
from tests.rules.branching import checkpoint, redrive

__all__ = ["give"]
pytestmark = pytest.mark.django_db(transaction=True)
BOTH = {"quarter": "4", "team": "dunning north"}
BAD = (
    ("dunning", "'dunning' is no label; write it as team=dunning."),
    ("team=", "The label 'team' needs a value of 1 to 100 visible characters."),
    ("team=a\u202eb", "The label 'team' needs a value of 1 to 100 visible characters."),
    ("team=a\nteam=b", "The label 'team' is there twice."),
    ("t\u00e9am=a", "can't be a label's name: up to 40 letters without accents, digits and . _ - / are."),
    ("\n".join(f"n{number}=x" for number in range(17)), "These are 17 labels; a run has at most 16."),
)


@pytest.mark.parametrize(("typed", "sentence"), BAD)
def test_what_cant_be_a_label_gets_one_sentence(typed: str, sentence: str) -> None:
    with pytest.raises(labelling.BadLabels) as refused:
        labelling.typed(typed)
    assert sentence in str(refused.value)


def titles(client: Client, params: Mapping[str, str]) -> list[str]:
    """Return the titles that the list of runs shows."""
    return [row.title for row in client.get(reverse("runs"), params).context["page"].rows]


def test_labels_go_with_a_run_from_its_start_to_its_proof(who: factories.People, as_: As, give: Give) -> None:
    client = as_(who.operator)
    form = opened(client) | {"agent": "receivables", "title": "By page", DAY: "2026-11-27"}
    refused = send(client, form | {"labels": "dunning", FILE: csv()})
    page = refused.content.decode()
    assert refused.status_code == 422
    assert "is no label; write it as team=dunning." in page
    assert ">\ndunning</textarea>" in page
    assert send(client, form | {"labels": "team=dunning north\r\nquarter=4", FILE: csv()}).status_code == 303
    run = models.Run.objects.get()
    assert run.labels == BOTH
    assert alike.labels(run) == (("quarter", "4"), ("team", "dunning north"))
    started = models.AuditEvent.objects.get(act="run.started", run=run)
    assert started.content["labels"] == BOTH

    api = give(who.operator)
    made = api.post("runs", {**invoices(), "title": "By API", "labels": {"team": "sales"}})
    assert (made.status_code, made.json()["labels"]) == (201, {"team": "sales"})
    wrong = api.post("runs", {**invoices(), "labels": {"a b": "x"}})
    assert (wrong.status_code, "can't be a label's name" in wrong.json()["detail"]) == (422, True)
    words = ["start_run", "receivables", "--input", f"{demo.FOLDER}/north.csv", "--title", "By shell"]
    call_command(*words, "--label", "team=sales", "--user", "operator-1", stdout=io.StringIO())
    with pytest.raises(CommandError, match="is no label"):
        call_command(*words, "--label", "sales")
    factories.demo_run(who.operator)

    assert titles(client, {"label": "team=sales"}) == ["By shell", "By API"]
    assert (
        titles(client, {"label": "team=sales", "only": "done"}) == titles(client, {"label": "team=no"}) == []
    )
    assert titles(client, {"label": "nothing"}) == titles(client, {"label": "team="}) == []
    assert titles(client, {"q": "dunning"}) == ["By page"]
    found = api.get("runs?label=team%3Dsales").json()
    assert [line["title"] for line in found["items"]] == ["By shell", "By API"]
    link = '<a class="chip break" href="/runs/?label=team%3Ddunning%20north">team=dunning north</a>'
    assert link in client.get(reverse("run", args=[run.pk])).content.decode()
    assert "quarter=4" in as_(who.auditor).get(reverse("run-dossier", args=[run.pk])).content.decode()

    again = redrive(go(run), checkpoint(run, "planned"), who.operator)
    assert again.labels == BOTH
    verifier.verify()
    for row, labels in ((run, {"team": "sales"}), (again, {}), (models.Run.objects.order_by("-pk")[1], BOTH)):
        with tampering.unhindered():
            models.Run.objects.filter(pk=row.pk).update(labels=labels)
            with pytest.raises(verifier.Broken, match=rf"run {row.pk}: its labels"):
                verifier.verify()
