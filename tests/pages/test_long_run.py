"""A run with ten thousand lines: each page reads a page of it, whichever it is, and finds words in all of it."""

from __future__ import annotations

import time

import pytest
from django.db import connection
from django.urls import reverse

from runs import exact, models
from tests import factories
from tests.engine.conftest import go, step
from tests.pages.conftest import As
from tests.pages.test_pages import queries, text

pytestmark = pytest.mark.django_db(transaction=True)

LINES = 10_000
PAGES = ("run", "run-transcript", "run-checkpoints", "run-effects")
SECONDS = 5.0
"""Many times what a page takes, so that a slow machine doesn't fail, and one that reads everything does."""
BYTES = 500_000

_FILL = """
INSERT INTO runs_entry (run_id, position, kind, content, head, number, boundary, counters, created_at)
SELECT %(run)s, n, CASE n %% 2 WHEN 0 THEN 'reply' ELSE 'result' END,
  CASE n %% 2
    WHEN 0 THEN '{"calls":[{"arguments":{"name":"thing ' || n || '"},"digest":"' || repeat('0', 64)
      || '","effect":"read","label":"","step":null,"tier":0,"tool":"world.look"}],"text":"'
      || repeat('Let me look at the next one. ', 20) || '","usage":{"cost_micro":1,"tokens_in":1,"tokens_out":1}}'
    ELSE '{"call":[' || n - 1 || ',0],"ran":true,"status":"' || CASE n %% 1000 WHEN 1 THEN 'failed' ELSE 'succeeded' END
      || '","text":"Looked at ' || CASE n WHEN %(needle)s THEN 'M\\u00fcller' ELSE 'number ' || n END
      || '.","value":"' || repeat('x', 400) || '"}' END,
  decode(md5(n::text) || md5(n::text), 'hex'),
  CASE n %% 2 WHEN 1 THEN n / 2 + 10 END, CASE n %% 2 WHEN 1 THEN 'result' END,
  CASE n %% 2 WHEN 1 THEN '[1,1,1,1,1,true]' END, now()
FROM generate_series(%(first)s, %(last)s) AS n
"""


def long_run(by: models.User) -> models.Run:
    """Return a run whose log has ten thousand lines: looks and what came of them."""
    run = go(factories.start(by, step("look", "it"), step("lookup", "mail")))
    first = run.position + 1 + run.position % 2  # calls stand at even places
    with connection.cursor() as cursor:
        cursor.execute(_FILL, {"run": run.pk, "first": first, "last": LINES, "needle": LINES // 2 + 1})
        cursor.execute("ANALYZE runs_entry")
    models.Run.objects.filter(pk=run.pk).update(
        position=LINES, checkpoint_number=(LINES - 1) // 2 + 10, checkpoint_position=LINES - 1
    )
    run.refresh_from_db()
    return run


def timed(client: object, address: str) -> tuple[float, str]:
    """Return how long the page takes at its second look, and the page."""
    text(client, address)  # type: ignore[arg-type]
    begun = time.perf_counter()
    page = text(client, address)  # type: ignore[arg-type]
    return time.perf_counter() - begun, page


def test_each_page_of_a_long_run(who: factories.People, as_: As) -> None:
    client = as_(who.viewer)
    small = go(factories.start(who.operator, step("look", "it"), step("lookup", "mail")))
    run = long_run(who.operator)
    last = run.checkpoint_number
    assert models.Checkpoint.objects.filter(run=run, number=last).exists()
    for name in PAGES:
        many = queries(client, reverse(name, args=[run.pk]))
        assert many <= queries(client, reverse(name, args=[small.pk])) + 1, name
        assert many <= 20, name
    transcript, timeline = (reverse(name, args=[run.pk]) for name in ("run-transcript", "run"))
    addresses = [
        *(reverse(name, args=[run.pk]) for name in PAGES),
        f"{timeline}?before=5000",
        f"{timeline}?only=failures",
        f"{transcript}?before=5000",
        f"{transcript}?q=m%C3%9CLLER",
        f"{transcript}?q=nowhere",
        reverse("run-checkpoint", args=[run.pk, last]),
        f"{reverse('run-diff', args=[run.pk])}?a={last - 5}&b={last}",
        f"{reverse('run-diff', args=[run.pk])}?a=1&b={last}",
    ]
    for address in addresses:
        took, page = timed(client, address)
        print(f"{took * 1000:6.0f} ms {len(page):8,} bytes {address}")  # noqa: T201  shown with -s
        assert took < SECONDS, address
        assert len(page) < BYTES, address
    found = text(client, f"{transcript}?q=m%C3%9CLLER")
    assert found.count('class="entry entry-') == 1
    assert "<mark>Müller</mark>" in found
    assert f"?after={LINES // 2 + 21}#e{LINES // 2 + 1}" in found
    assert f'id="e{LINES // 2 + 1}"' in text(client, f"{transcript}?after={LINES // 2 + 21}")
    assert "No line has these words" in text(client, f"{transcript}?q=nowhere")
    failures = text(client, f"{timeline}?only=failures")
    assert failures.count('class="event tone-bad"') == (LINES - 1) // 1000
    assert "only its beginning is compared" in text(
        client, f"{reverse('run-diff', args=[run.pk])}?a=1&b={last}"
    )
    jump = client.get(f"{transcript}?checkpoint={last}")
    assert jump["Location"] == f"{transcript}?after={LINES - 1 + 20}#e{LINES - 1}"
    assert "There is no such checkpoint" in text(client, f"{transcript}?checkpoint=999999")
    lines = client.get(f"{transcript}?as=lines&before=5000").content.decode().splitlines()
    assert len(lines) == 50
    assert exact.stored(lines[0])["position"] == 5001
