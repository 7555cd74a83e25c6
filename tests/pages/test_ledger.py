"""The effects of all runs: what became of each, narrowed by filters, found by words and key, saved as a file."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.urls import reverse

from runs import models
from runs.selectors import effects_files, effects_ledger
from runs.transitions import effect_words
from tests import factories
from tests.engine.conftest import go, step
from tests.pages.conftest import As
from tests.pages.test_pages import queries, text
from tests.rules.branching import checkpoint, redrive, through

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_effects_of_all_runs(who: factories.People, as_: As, monkeypatch: pytest.MonkeyPatch) -> None:
    client, address = as_(who.viewer), reverse("effects")
    assert "Nothing went out yet" in text(client, address)
    run = through(factories.start(who.operator, step("lookup", "=1+1 Müller"), title="First"), who.reviewer)
    new = go(redrive(run, checkpoint(run, "planned"), who.operator))  # absorbs it: no line of its own
    own = text(client, reverse("run-effects", args=[new.pk]))
    for said in (
        f'done by <a href="{reverse("run-effects", args=[run.pk])}">run {run.pk}</a>',
        "known by: the tool",
    ):
        assert said in own, said
    one = queries(client, address)
    doubt = factories.in_doubt(who.operator, who.reviewer)
    other = through(factories.start(who.operator, step("costly", "fee"), title="Other"), who.reviewer)
    effect = models.Occurrence.objects.get(root=run)
    models.Occurrence.objects.filter(root=other).update(contradicted=True)

    page = text(client, address)
    assert page.count('<li class="row tier-') == 3
    for said in (
        "Did =1+1 Müller.",
        "known by: the tool&#x27;s own answer",
        effect.key,
        "Unknown",
        "contradict each other",
    ):
        assert said in page, said
    assert queries(client, address) == one <= 14

    assert effect_words.index() == 3
    assert effect_words.index() == 0

    def found(query: str) -> list[str]:
        shown = text(client, f"{address}?{query}")
        return [
            str(pk)
            for pk in models.Occurrence.objects.order_by("pk").values_list("pk", flat=True)
            if f'id="effect-{pk}"' in shown
        ]

    first, second, third = (
        str(pk) for pk in models.Occurrence.objects.order_by("pk").values_list("pk", flat=True)
    )
    assert models.Occurrence.objects.get(pk=second).root_id == doubt.pk
    agent = other.agent_version.agent.name
    for query, wanted in (
        ("state=unknown", [second]),
        ("state=standing", [first, third]),
        ("state=contradicted", [third]),
        ("state=nonsense", [first, second, third]),
        ("tool=world.costly", [third]),
        (f"agent={agent}", [third]),
        ("q=m%C3%9CLLER", [first]),
        ("q=parcel", [second]),
        ("q=did", [first, third]),  # what only their receipts say; nobody knows what the second one did
        (f"q=%23{second}", [second]),
        (f"q={second}", [second]),
        (f"q={effect.key.upper()}", [first]),
        ("q=nowhere", []),
        (f"before={second}", [first]),
        ("before=x", [first, second, third]),
        ("before=999999999999999999", [first, second, third]),
        ("q=%00&agent=%00&tool=world.costly%00", [third]),
    ):
        assert found(query) == wanted, query

    monkeypatch.setattr(effects_ledger, "WINDOW", 1)
    assert found("") == [third]
    assert "Look further back" in text(client, address)
    assert found(f"before={third}&state=unknown") == [second]
    monkeypatch.setattr(effects_ledger, "SIZE", 1)
    monkeypatch.setattr(effects_ledger, "WINDOW", 100)
    assert f"before={third}" in text(client, address)

    saved = client.get(f"{address}?as=csv&q=m%C3%BCller")
    assert saved["Content-Disposition"] == 'attachment; filename="effects.csv"'
    (line,) = csv.DictReader(io.StringIO(saved.content.decode()))
    assert (line["number"], line["key"], line["run_title"]) == (first, effect.key, "First")
    assert effects_files._cell("=1+1") == "'=1+1"
    rows = json.loads(client.get(f"{address}?as=json").content)
    assert [str(row["number"]) for row in rows] == [third, second, first]
    assert json.loads(rows[2]["receipt"])["summary"] == "Did =1+1 Müller."
