"""Searching questions and runs: by run, agent, tool and the words of the arguments; through the index, and safely."""

from __future__ import annotations

import io
from urllib.parse import quote

import pytest
from django.core.management import call_command
from django.db import connection

from runs import exact, models
from runs.selectors import effects_ledger, filters
from tests import factories
from tests.core import rows as makers
from tests.engine.conftest import answer, go, only_review, step
from tests.pages.conftest import As
from tests.pages.test_inbox import INBOX, rows
from tests.pages.test_pages import text

pytestmark = pytest.mark.django_db(transaction=True)


def test_found_by_its_run_its_agent_its_tool_and_its_arguments(who: factories.People, as_: As) -> None:
    """Beginnings of words, all of them wanted, over the run and the question together; open and decided alike."""
    hostile = "O'Hara' | 'x:* & !(\\ <script> Müller-Straße 12"
    first = factories.held(who.operator, name=hostile, title="Letters north")
    second = factories.held(who.operator, tool="idempotent", name="café", title="Letters south")
    failed = factories.failed(who.operator)
    client = as_(who.admin)
    for typed, found in {
        "let": 2,
        "letters nor": 1,
        "lett müll": 1,  # of the run, and of the arguments
        "MULLER": 0,
        "STRASSE": 1,
        '"hara x"': 1,
        "letters -south": 1,
        "south or o'hara": 2,
        "world.idem": 1,
        "test agent": 3,
        "file is not there": 1,
        "!(": 0,
        "' | '": 0,
        "-let": 0,
        "nothing": 0,
        "a" * 5000: 0,
    }.items():
        assert rows(text(client, f"{INBOX}?q={quote(typed)}")) == found, typed
    for typed, review in {f"#{second.pk}": second, f"#{first.run_id}": first}.items():
        assert f'href="/reviews/{review.pk}/?from=q%3D' in text(
            client, f"{INBOX}?q={typed.replace('#', '%23')}"
        )
    page = text(client, f"{INBOX}?q=nothing&tier=2")
    assert "No entry fits these filters" in page
    assert "/inbox/?tab=decided&amp;q=nothing&amp;earlier=1" in page
    answer(first, who.reviewer, "reject")
    go(first.run)
    assert rows(text(client, f"{INBOX}?q=hara")) == 0
    assert rows(text(client, f"{INBOX}?tab=decided&q=hara")) == 1
    for typed, titles in {
        "hara": "north",
        "lett south": "south",
        "fail": "Failed",
        f"#{failed.pk}": "Failed",
    }.items():
        page = text(client, f"/runs/?q={quote(typed)}")
        assert (rows(page), titles in page) == (1, True), typed
    models.Words.objects.all().delete()  # as if they were older than the search
    call_command("index_words", stdout=io.StringIO())
    for typed, count in {"hara": 1, "letters south": 1, "file is not there": 1}.items():
        assert rows(text(client, f"/runs/?q={quote(typed)}")) == count, typed
    assert "No run fits this filter" in text(client, "/runs/?q=%27%3A%2A&only=failed")


def test_an_edit_is_found_by_what_it_says_now(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator, name="before")
    action = review.action
    assert action is not None
    before = models.Words.objects.get(review=review).words
    assert "before" in before
    run = go(factories.start(who.operator, step("lookup", "x" * 70_000 + " end")))
    assert len(models.Words.objects.get(review=only_review(run)).words) < 2_000


def test_the_server_answers_from_the_index() -> None:
    """Two thousand questions: the plan of the inbox's own condition names the index."""
    run = makers.run()
    run.refresh_from_db()
    models.Review.objects.bulk_create(
        models.Review(
            run=run, kind="plan", digest=exact.digest_of(n), title=f"Letter {n}", content={}, groups=["reviewer"],
            due_at=run.created_at, expires_at=run.created_at,
        )
        for n in range(2000)
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO runs_words (run_id, review_id, words)"
            " SELECT run_id, id, to_tsvector('simple', title || ' ' || (SELECT string_agg(md5(g || title), ' ')"
            " FROM generate_series(1, 40) g)) FROM runs_review"
        )
        makers.occurrence()
        cursor.execute(
            "INSERT INTO runs_occurrence (root_id, tool, identity, identity_digest, declaration, n, key, state,"
            " owner_id, horizon, verification, contradicted) SELECT root_id, tool, identity, identity_digest,"
            " declaration, n + g, key, state, owner_id, horizon, '', false FROM runs_occurrence,"
            " generate_series(1, 2000) g"
        )
        cursor.execute(
            "INSERT INTO runs_words (run_id, effect_id, words)"
            " SELECT root_id, id, to_tsvector('simple', 'Sent as row ' || n) FROM runs_occurrence"
        )
        cursor.execute("SELECT gin_clean_pending_list('runs_words_found')")
        cursor.execute("ANALYZE runs_words, runs_review, runs_occurrence")
    asked = models.Review.objects.filter(filters.Filters(q="letter 1234").condition())
    assert asked.count() == 1
    assert "runs_words_found" in asked.explain()
    effects = models.Occurrence.objects.filter(
        effects_ledger.condition(effects_ledger.Filters(words="row 1234"))
    )
    assert effects.count() == 1
    assert "runs_words_found" in effects.explain()
