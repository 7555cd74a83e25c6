"""A dry run of a whole run: nothing goes out, nobody is asked, and its report says what and whom."""

from __future__ import annotations

import csv
import io
import itertools
import json
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse

from runs import models, samples
from runs.engine import verifier
from runs.transitions import starts, switches
from runs.transitions.actor import Actor
from runs.transitions.refusals import Stale
from tests import factories
from tests.core import tampering
from tests.engine.conftest import fresh_world, go, step
from tests.engine.world import World
from tests.pages.conftest import As, as_, who
from tests.pages.test_pages import text
from tests.pages.test_plan_editor import token_of

__all__ = ["as_", "fresh_world", "who"]
pytestmark = pytest.mark.django_db(transaction=True)
_tokens = itertools.count()
HOURS = {"type": "object", "required": ["hours"], "properties": {"hours": {"type": "integer", "minimum": 2}}}


def test_a_dry_run_says_what_it_would_do_and_whom_it_would_ask(who: factories.People, as_: As) -> None:
    rules = [
        {"name": "drafts", "verdict": "allow", "match": {"tool": "world.allowed"}},
        {"name": "never", "verdict": "deny", "match": {"tool": "world.back"}},
        {
            "name": "fees",
            "verdict": "review",
            "match": {"tool": "world.costly"},
            "groups": ["board"],
            "quorum": 2,
        },
        {"name": "questions", "verdict": "review", "match": {"tool": "ask_human"}, "groups": ["operator"]},
    ]
    switches.set_policy({"version": 1, "rules": rules}, reason="for the test", by=Actor(user=who.admin))
    steps: list[dict[str, Any]] = [
        step("look", "it"), step("allowed", "draft"), step("lookup", "mail"), step("costly", "fee"), step("back", "x"),
        {"id": "ask", "title": "Ask", "ask": {"question": "How long?", "schema": HOURS}},
        step("lookup", "the end", id="after"),
    ]  # fmt: skip
    live = factories.start(who.operator, *steps, approve_plan=True, given={"to": "x"})
    agent, token = live.agent_version.agent.name, f"dry-{next(_tokens)}"
    given: dict[str, Any] = {"input": {"to": "x"}, "title": "Tried", "by": Actor(user=who.operator)}
    dry = starts.start_run(agent, token=token, mode="dry_run", **given)
    assert starts.start_run(agent, token=token, mode="dry_run", **given) == dry
    with pytest.raises(Stale):  # the form of a dry run starts nothing live
        starts.start_run(agent, token=token, **given)
    dry = go(dry)
    assert (dry.status, World.effects(), models.Occurrence.objects.count()) == ("succeeded", [], 0)
    assert not models.Review.objects.filter(run=dry).exists()
    verifier.verify()

    client, place = as_(who.operator), reverse("run-dry", args=[dry.pk])
    report = json.loads(client.get(f"{place}?as=json").content)
    assert [(line["verdict"], line["what"], line["asks"]) for line in report["lines"]] == [
        ("alone", "Will do draft.", "Nobody is asked: the rule “drafts” allows it"),
        ("ask", "Will do mail.", "Asks reviewer"),
        ("ask", "Will do fee.", "Asks 2 people of board, by the rule “fees”"),
        ("refused", "world.back", "Not done: the policy rule 'never' forbids it."),
        ("question", "How long?", 'Asks operator, by the rule “questions”; supposed here: {"hours": 2}'),
        ("ask", "Will do the end.", "Asks reviewer"),
    ]
    assert report["dry_run"] is True
    assert report["plan"].startswith("Its plan of ")
    totals = report["totals"]
    assert [totals[name] for name in ("effects", "asked", "alone", "refused", "questions")] == [4, 3, 1, 1, 1]
    sheet = b"".join(client.get(f"{place}?as=csv").streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    rows = list(csv.DictReader(io.StringIO(sheet)))
    assert len(rows) == 6
    assert {row["dry run"] for row in rows} == {"Dry run: nothing of this was done."}

    for name in ("run", "run-dry", "run-plan", "run-transcript", "run-effects", "run-usage"):
        page = text(client, reverse(name, args=[dry.pk]))
        assert "<title>Dry run: " in page
        assert "Dry run: nothing goes out" in page
    assert "dry run, nothing goes out" in text(client, reverse("runs"))
    assert client.get(reverse("run-dry", args=[live.pk])).status_code == 404
    assert "Start it for real" not in text(as_(who.viewer), place)
    sent = {"token": "real", **token_of(text(client, place))}
    over = client.post(reverse("run-take-over", args=[dry.pk]), sent)
    assert over.status_code == 303
    real = models.Run.objects.latest("pk")
    assert (real.mode, real.input, real.path, over["Location"]) == (
        "live",
        {"to": "x"},
        [],
        f"/runs/{real.pk}/",
    )

    # Whoever makes it live behind the product's back is found.
    for pk, mode in ((dry.pk, "live"), (live.pk, "dry_run")):
        with tampering.unhindered():
            models.Run.objects.filter(pk=pk).update(mode=mode)
            with pytest.raises(verifier.Broken, match="dry run is not what"):
                verifier.verify()


def test_the_demo_as_a_dry_run_from_the_shell_and_from_the_page(who: factories.People, as_: As) -> None:
    """Letters and fees are previewed whole and counted; the form says what it starts."""
    file = ["--input", "runs/demo/csv/north.csv"]
    call_command("start_run", "receivables", *file, "--dry-run", "--user", "operator-1")
    dry = go(models.Run.objects.latest("pk"))
    assert (dry.mode, dry.status) == ("dry_run", "succeeded")
    client = as_(who.operator)
    report = json.loads(client.get(reverse("run-dry", args=[dry.pk]) + "?as=json").content)
    assert report["totals"]["effects"] == len(report["lines"]) > 2
    assert report["totals"]["money"] == ["40.00 EUR"]
    agent = factories.start(who.operator, step("lookup", "x")).agent_version.agent.name
    form = {"agent": agent, "title": "Tried", "dry_run": "1", "token": "page-1"}
    sent = client.post(reverse("runs"), {**form, **token_of(text(client, reverse("runs")))})
    made = models.Run.objects.latest("pk")
    assert (made.mode, sent["Location"]) == ("dry_run", reverse("run-dry", args=[made.pk]))


def test_a_sample_fits_its_schema_or_is_none() -> None:
    cases: tuple[tuple[dict[str, Any], Any], ...] = (
        ({"type": "string", "minLength": 2}, "xx"),
        ({"enum": ["b", "a"]}, "b"),
        ({"type": "boolean", "default": False}, False),
        ({"type": "number", "maximum": -3}, -3),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [0, 0]),
        ({"type": "string", "format": "date"}, "2026-01-01"),
    )
    for schema, value in cases:
        assert samples.of(schema).value == value
    with pytest.raises(samples.NoSample):
        samples.of({"type": "string", "pattern": "^[A-Z]{3}$"})
