"""The demo's ledger: what failed before the commit is proof, a row can be found by key, sums are exact."""

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from runs.demo import ledger, tools
from runs.tools import contract
from tests.tools.call import Call

FEE = {"invoice_no": "N-1", "customer": "Ada", "amount": "40.00", "currency": "EUR", "period": "2026-11"}


@pytest.fixture
def path(tmp_path: Path, settings: Settings) -> Path:
    settings.CKPTSITE_LEDGER = tmp_path / "data" / "ledger.sqlite3"
    return tmp_path / "data" / "ledger.sqlite3"


def rows(path: Path) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT id, key, invoice_no, amount FROM late_fee ORDER BY id").fetchall()
    finally:
        connection.close()


def parse(**changes: Any) -> Any:
    return tools.PostLateFee.parse(FEE | changes)


def test_a_fee_is_one_row_and_can_be_found(path: Path) -> None:
    tool = tools.PostLateFee()
    assert tool.lookup(parse(), ["abc"], Call()) is None
    receipt = tool.run(parse(), Call(idempotency_key="abc"))
    assert rows(path) == [(1, "abc", "N-1", "40.00")]
    assert receipt.value == {"row": 1, "invoice_no": "N-1"}
    assert tool.lookup(parse(), ["other", "abc"], Call()) == receipt
    assert tool.lookup(parse(), ["other"], Call()) is None


def test_the_ledger_itself_stops_nothing_so_that_a_doubling_would_show(path: Path) -> None:
    for _ in range(2):
        tools.PostLateFee().run(parse(), Call(idempotency_key="abc"))
    assert [row[0] for row in rows(path)] == [1, 2]


def test_the_precondition_is_the_exact_sum_so_far(path: Path) -> None:
    tool = tools.PostLateFee()
    assert tool.precondition(parse(), Call()) == {"late_fees_so_far": "0.00", "entries": 0}
    assert not path.exists()
    for amount in ("0.10", "0.20", "999999999.99"):
        tool.run(parse(amount=amount), Call())
    tool.run(parse(invoice_no="N-2"), Call())
    assert tool.precondition(parse(), Call()) == {"late_fees_so_far": "1000000000.29", "entries": 3}


def test_the_preview_is_made_from_the_arguments(path: Path) -> None:
    preview = tools.PostLateFee().preview(parse(), Call())
    assert preview.money == "40.00 EUR"
    assert preview.target == "Ada"
    assert "books the amount back" in preview.reversal
    assert not path.exists()


def test_invoice_and_month_are_the_identity(path: Path) -> None:
    tool = tools.PostLateFee()
    assert tool.identity_of(parse(amount="80.00", invoice_no="n-1")) == tool.identity_of(parse())
    assert tool.identity_of(parse(period="2026-12")) != tool.identity_of(parse())


@pytest.mark.parametrize(
    "changes",
    [
        {"amount": "40"},
        {"amount": "0.00"},
        {"amount": "-40.00"},
        {"amount": "4e1"},
        {"amount": "\u0664\u0660.\u0660\u0660"},
        {"amount": 40.0},
        {"currency": "eur"},
        {"period": "2026-13"},
        {"period": "2026-11\n"},
        {"invoice_no": "N 1"},
        {"customer": "A\nB"},
        {"note": "x"},
    ],
)
def test_arguments_that_are_no_fee_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(contract.BadArguments, match=r"^ledger\.post_late_fee: "):
        parse(**changes)


def test_what_fails_before_the_commit_did_not_happen(path: Path) -> None:
    tool = tools.PostLateFee()
    with pytest.raises(contract.DidNotHappen, match="time for this fee was over"):
        tool.run(parse(), Call(seconds=0))
    tool.run(parse(), Call(idempotency_key="abc"))
    holder = sqlite3.connect(path, isolation_level=None)
    try:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(contract.DidNotHappen, match="database is locked"):
            tool.run(parse(), Call(seconds=0.2))
    finally:
        holder.close()
    assert len(rows(path)) == 1
    path.write_bytes(b"no database at all, but long enough to be taken for one" * 10)
    with pytest.raises(contract.DidNotHappen, match="not a database"):
        tool.run(parse(), Call())


CRASH = """
import os, pathlib, sqlite3, sys
from runs.demo import ledger
class Connection(sqlite3.Connection):
    def execute(self, sql, *args):
        if sql == "COMMIT" and sys.argv[2] == "before":
            os._exit(9)
        found = super().execute(sql, *args)
        if sql == "COMMIT":
            os._exit(9)
        return found
real = sqlite3.connect
sqlite3.connect = lambda *args, **more: real(*args, factory=Connection, **more)
fee = ledger.Fee(invoice_no="N-1", customer="Ada", amount="40.00", currency="EUR", period="2026-11")
ledger.post(pathlib.Path(sys.argv[1]), "abc", fee, timeout=5)
"""


@pytest.mark.parametrize(("when", "number"), [("before", None), ("after", 1)])
def test_a_process_that_dies_leaves_the_row_or_none(path: Path, when: str, number: int | None) -> None:
    died = subprocess.run([sys.executable, "-c", CRASH, str(path), when], check=False, timeout=30)
    assert died.returncode == 9
    assert ledger.find(path, ["abc"]) == number


def test_an_undo_books_the_amount_back_under_a_key_of_its_own(path: Path) -> None:
    tool = tools.PostLateFee()
    receipt = tool.run(parse(), Call(idempotency_key="abc"))
    assert tool.undo_lookup(parse(), receipt, ["def"], Call()) is None
    back = tool.undo(parse(), receipt, Call(idempotency_key="def"))
    assert rows(path) == [(1, "abc", "N-1", "40.00"), (2, "def", "N-1", "-40.00")]
    assert back.summary == "Late fee of 40.00 EUR for Ada booked back as ledger row 2."
    assert tool.undo_lookup(parse(), receipt, ["def"], Call()) == back
    assert tool.precondition(parse(), Call()) == {"late_fees_so_far": "0.00", "entries": 2}
    shown = tool.undo_preview(parse(), receipt, Call())
    assert (shown.summary, shown.money) == ("The late fee of 40.00 EUR for Ada is booked back.", "-40.00 EUR")


def test_an_undo_that_comes_too_late_or_can_not_be_booked_proves_that_nothing_was(path: Path) -> None:
    tool = tools.PostLateFee()
    receipt = contract.Receipt(summary="posted")
    with pytest.raises(contract.DidNotHappen, match="was over") as late:
        tool.undo(parse(), receipt, Call(seconds=0))
    assert late.value.retryable
    path.parent.mkdir(parents=True)
    path.write_text("this is no database, but long enough to be taken for one" * 10)
    with pytest.raises(contract.DidNotHappen, match="not a database"):
        tool.undo(parse(), receipt, Call(idempotency_key="def"))
