"""SQL on a real PostgreSQL and a real SQLite file: reads can't write; a change is whole, marked and found, or not."""

from __future__ import annotations

import sqlite3
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from pytest_django import Settings

from runs.tools import contract, databases, sql
from tests.tools.call import Call

Ask = Callable[..., list[tuple[Any, ...]]]


def postgres_url() -> str:
    """Return where the tests' own database is."""
    given = connection.get_connection_params()
    return psycopg.conninfo.make_conninfo(
        "",
        **{name: given[name] for name in ("dbname", "host", "port", "user", "password") if given.get(name)},
    )


def as_url(info: str) -> str:
    """Return connection parameters as a URL, which is what the file of tools holds."""
    parts = psycopg.conninfo.conninfo_to_dict(info)
    return f"postgresql:///?{urllib.parse.urlencode(parts)}"


@pytest.fixture(params=["postgresql", "sqlite"])
def books(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path, db: None) -> Iterator[Ask]:
    """A database with three invoices, and a way to look into it from outside."""
    make = "CREATE TABLE tool_invoice (id integer PRIMARY KEY, customer text NOT NULL, amount numeric)"
    rows = "INSERT INTO tool_invoice VALUES (1, 'Ada', 10.5), (2, 'Bob', 20), (3, 'Cy', 30)"
    if request.param == "sqlite":
        path = tmp_path / "books.sqlite3"
        url = f"sqlite:///{path}"

        def ask(statement: str) -> list[tuple[Any, ...]]:
            with closing(sqlite3.connect(path)) as own:
                found = own.execute(statement).fetchall()
                own.commit()
                return found
    else:
        url = as_url(postgres_url())

        def ask(statement: str) -> list[tuple[Any, ...]]:
            with psycopg.connect(url, autocommit=True) as own:
                cursor = own.execute(statement)
                return cursor.fetchall() if cursor.description else []

    ask(make)
    ask(rows)
    known = {"url": url, "write_url": url, "rehearse": True}
    settings.CKPTSITE_TOOLS = {
        "sql": {"books": known, "looked": {"url": url}, "plain": known | {"rehearse": False}}
    }
    yield ask
    if request.param == "postgresql":
        ask("DROP TABLE IF EXISTS tool_invoice")
        ask(f"DROP TABLE IF EXISTS {databases.MARKERS}")


def query(statement: str, *parameters: Any) -> contract.Receipt:
    args = sql.Query.parse({"connection": "books", "statement": statement, "parameters": parameters})
    return sql.Query().run(args, Call())


def parsed(statement: str, *parameters: Any, **more: Any) -> Any:
    given = {"connection": "books", "reference": "R 1", "statement": statement, "parameters": parameters}
    return sql.Execute.parse(given | more)


def mark(ask: Ask, statement: str) -> str:
    """Write the parameters as this database has them."""
    with databases.opened(sql._known("books").url, "", seconds=5) as database:
        return statement.replace("?1", database.placeholder(1)).replace("?2", database.placeholder(2))


def test_what_reads_and_what_changes(books: Ask) -> None:
    found = query(
        mark(books, "SELECT customer, amount, NULL AS none FROM tool_invoice WHERE id < ?1 ORDER BY id"), 3
    )
    assert found.value["columns"] == ["customer", "amount", "none"]
    assert [row[0] for row in found.value["rows"]] == ["Ada", "Bob"]
    many = query(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i FROM n"
    )
    assert len(many.value["rows"]) == sql.SHOWN
    assert many.value["file"]["path"] == "rows.csv"

    for refused in (
        "DELETE FROM tool_invoice", "COMMIT", "/* x */ SELECT 1", "SELECT 1; DELETE FROM tool_invoice", "SELECT nope",
        "WITH gone AS (DELETE FROM tool_invoice RETURNING *) SELECT * FROM gone", "ATTACH 'x' AS y", "",
        f"SELECT * FROM {databases.MARKERS}",
    ):  # fmt: skip
        with pytest.raises((contract.DidNotHappen, contract.BadArguments)):
            query(refused)
    assert books("SELECT count(*) FROM tool_invoice") == [(3,)]

    tool, ctx = sql.Execute(), Call(idempotency_key="k1")
    args = parsed(mark(books, "UPDATE tool_invoice SET amount = amount + ?1 WHERE id <= ?2"), 1, 2, rows=2)
    before = tool.precondition(args, ctx)
    shown = tool.preview(args, ctx)
    assert ("Would change now", "2 rows") in shown.facts
    assert "- id=1, customer='Ada'" in shown.body
    assert shown.body.count("\n+ ") == 2
    assert float(books("SELECT sum(amount) FROM tool_invoice")[0][0]) == 60.5
    assert tool.lookup(args, ["k1"], ctx) is None
    receipt = tool.run(args, ctx)
    assert receipt.value["affected"] == 2
    assert float(books("SELECT sum(amount) FROM tool_invoice")[0][0]) == 62.5
    looked = tool.lookup(args, ["other", "k1"], ctx)
    assert looked is not None
    assert looked.summary == receipt.summary
    assert tool.lookup(args, ["k2"], ctx) is None
    assert tool.precondition(args, ctx) != before
    with pytest.raises(contract.DidNotHappen, match="refused it"):  # the same key never stands twice
        tool.run(args, ctx)

    gone = parsed("DELETE FROM tool_invoice WHERE id = 3")
    assert tool.preview(gone, ctx).body.startswith("- id=3, customer='Cy'")
    returned = tool.run(
        parsed("DELETE FROM tool_invoice WHERE id = 3 RETURNING customer"), Call(idempotency_key="k3")
    )
    assert (returned.value["affected"], returned.value["rows"]) == (1, [["Cy"]])
    plain = tool.preview(parsed("DELETE FROM tool_invoice WHERE id > 1", connection="plain"), ctx)
    assert "tool_invoice" in plain.body
    assert plain.warnings
    assert tool.precondition(parsed("DELETE FROM tool_invoice", connection="plain"), ctx) is None
    assert books("SELECT count(*) FROM tool_invoice") == [(2,)]


def test_what_fails_before_the_commit_leaves_nothing(books: Ask) -> None:
    tool = sql.Execute()
    for args, words in (
        (parsed("DELETE FROM tool_invoice", rows=1), "would change 3 rows, not 1"),
        (parsed("INSERT INTO tool_invoice VALUES (1, 'Eve', 1)"), "refused it"),
        (parsed("DROP TABLE tool_invoice"), "begins with"),
        (parsed(f"DELETE FROM {databases.MARKERS}"), "not for agents"),
        (parsed("DELETE FROM tool_invoice; DELETE FROM tool_invoice"), "refused it|one statement"),
        (parsed("DELETE FROM tool_invoice", connection="looked"), "may not be changed"),
        (parsed("DELETE FROM tool_invoice", connection="nowhere"), "is configured"),
    ):
        with pytest.raises(contract.DidNotHappen, match=words):
            tool.run(args, Call(idempotency_key="k1"))
    with pytest.raises(contract.DidNotHappen, match="time was over"):
        tool.run(parsed("DELETE FROM tool_invoice"), Call(seconds=0.1))
    assert books("SELECT count(*) FROM tool_invoice") == [(3,)]
    assert tool.lookup(parsed("DELETE FROM tool_invoice"), ["k1"], Call()) is None
