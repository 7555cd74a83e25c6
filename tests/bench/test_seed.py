"""What is seeded is what the product would have written: logs, chains and pages hold for it."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.db.models import Count

from runs import models
from runs.engine import verifier
from runs.selectors import storage
from tests.bench import addresses, covered, plans, seed, serving
from tests.bench.seeding import patterns

FEW = patterns.Sizes(agents=2, broad=1, huge=160, open=0.02, without=frozenset({"long"}))
_KEYS = """
SELECT k.conrelid::regclass::text, a.attname, k.confrelid::regclass::text, b.attname FROM pg_constraint k
JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = k.confkey[1] WHERE k.contype = 'f'
"""


@pytest.mark.django_db(transaction=True)
def test_what_is_seeded_holds_in_every_chain_and_opens_on_every_page() -> None:
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    found = seed.fill(url, 150, free=2**50, sizes=FEW)
    assert (found.asked, found.runs, found.scale) == (150, models.Run.objects.count(), 1.0)
    assert found.rows["runs_entry"] == models.Entry.objects.count() > 10 * found.runs
    assert found.open == models.Review.objects.filter(status="open").count() > 30
    _each_key_names_a_row()
    verified = verifier.verify()
    assert (verified.runs, verified.entries) == (found.runs, found.rows["runs_entry"])
    people = serving.People()
    wanted = list(addresses.everything())
    with serving.statements() as said:
        for address in wanted:
            assert serving.ask(people, address)[0] == 200, address
    assert plans.whole(said) == {}
    assert covered.gaps(people, wanted) == []
    assert covered.gaps(people, [one for one in wanted if one.path.partition("?")[0] != "/system/"]) == [
        "/system/ isn't measured",
        "the part 'state' of system isn't measured",
    ]
    without = serving.Statement("SELECT id FROM runs_run WHERE title = %s", ["Open invoices"], 0.0)
    assert plans.whole([without]) == {without.text: "runs_run without an index"}
    _storage_is_what_it_is()
    with pytest.raises(seed.NotEmpty):
        seed.fill(url, 150, free=2**50, sizes=FEW)


def _storage_is_what_it_is() -> None:
    """All of a small log is counted, and numbers that grow with time tell as much as times do."""
    found = storage.find()
    by_agent = (
        models.Entry.objects.order_by().values_list("run__agent_version__agent__name").annotate(Count("pk"))
    )
    assert found.every
    assert {share.agent: share.lines for share in found.agents} == dict(by_agent)
    assert sum(kind.bytes for kind in found.kinds) == found.bytes
    every = sum(share.bytes for share in found.agents)
    of_runs = sum(kind.bytes for kind in found.kinds if kind.of_runs)
    assert every == pytest.approx(of_runs, rel=0.001)
    since = dict(models.Run.objects.order_by().values_list("created_at__date").annotate(Count("pk")))
    assert {day.day: day.runs for day in found.days if day.runs} == {
        day: since[day] for day in since if day >= found.days[0].day
    }
    assert sum(day.lines for day in found.days) > 0


def test_where_the_disk_is_small_there_are_fewer_runs() -> None:
    assert seed.fitting(1000, free=seed.LEFT_FREE + 100 * seed.BYTES_A_RUN) == 100
    assert seed.fitting(1000, free=seed.LEFT_FREE // 2) == 0
    assert seed.fitting(1000, free=2**50) == 1000


def _each_key_names_a_row() -> None:
    """They were not checked while they were written."""
    with connection.cursor() as cursor:
        cursor.execute(_KEYS)
        for table, column, other, named in cursor.fetchall():
            cursor.execute(
                f"SELECT count(*) FROM {table} x WHERE x.{column} IS NOT NULL"
                f" AND NOT EXISTS (SELECT FROM {other} y WHERE y.{named} = x.{column})"
            )
            assert cursor.fetchone() == (0,), f"{table}.{column} names a row of {other} that isn't there"
