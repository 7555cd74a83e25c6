"""Open invoices: what a row of the file must hold, and who is to be reminded. Pure."""

from __future__ import annotations

import csv
import datetime
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from runs.tools import email

STAGES = ((35, 3), (21, 2), (7, 1))
"""From how many days late on which reminder is due, the worst first."""

FEE_FROM_DAYS = 60
LONGEST_NAME = 200
FEE = Decimal("40.00")

_MONEY = re.compile(r"(-?)([0-9]{1,9})(?:[.,]([0-9]{1,2}))?\Z")
_CURRENCY = re.compile(r"[A-Z]{3}\Z")
_NUMBER = re.compile(r"[A-Za-z0-9][A-Za-z0-9/._-]{0,39}\Z")


class BadRow(ValueError):
    """The row can't be used; the message says why, without a full stop."""


@dataclass(frozen=True, kw_only=True)
class Invoice:
    """One open invoice."""

    line: int
    number: str
    customer: str
    email: str
    amount: Decimal
    currency: str
    due: datetime.date
    reminders: int

    def days_late(self, as_of: datetime.date) -> int:
        """Return the days since the due date; 0 or less when it isn't late."""
        return (as_of - self.due).days

    def stage(self, as_of: datetime.date) -> int:
        """Return the reminder that is due, 0 for none: by the days, but never skipping one that wasn't written yet."""
        late = self.days_late(as_of)
        by_days = next((stage for days, stage in STAGES if late >= days), 0)
        return min(by_days, self.reminders + 1)


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """Who is to be reminded or charged, and which rows could not be used."""

    reminders: tuple[Invoice, ...]
    fees: tuple[Invoice, ...]
    not_due: int
    bad: tuple[tuple[int, str], ...]


def assess(rows: Sequence[Mapping[str, Any]], as_of: datetime.date) -> Assessment:
    """Return what is to be done on `as_of`; a row that can't be used is reported, never guessed at."""
    good: list[Invoice] = []
    bad: list[tuple[int, str]] = []
    times = Counter(str(row.get("invoice_no", "")).casefold() for row in rows)
    for row in rows:
        line = int(row.get("_line", 0))
        try:
            number = str(row.get("invoice_no", ""))
            if number and times[number.casefold()] > 1:
                raise BadRow(
                    f"the invoice number {number} stands in the file {times[number.casefold()]} times"
                )
            good.append(parse(row, line))
        except BadRow as error:
            bad.append((line, str(error)))
    fees = [one for one in good if one.reminders >= 3 and one.days_late(as_of) >= FEE_FROM_DAYS]
    reminders = [one for one in good if one.reminders < one.stage(as_of)]
    return Assessment(
        reminders=tuple(sorted(reminders, key=lambda one: (one.due, one.number))),
        fees=tuple(sorted(fees, key=lambda one: (one.due, one.number))),
        not_due=len(good) - len(reminders) - len(fees),
        bad=tuple(sorted(bad)),
    )


def as_csv(found: Assessment, as_of: datetime.date) -> bytes:
    """Return the customers who are reminded or charged as a CSV file, the longest overdue first."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(("invoice_no", "customer", "amount", "currency", "due_date", "days_late", "next"))
    for kind, rows in (("late fee", found.fees), ("reminder", found.reminders)):
        for one in rows:
            step = f"{kind} {one.stage(as_of)}" if kind == "reminder" else kind
            writer.writerow(
                (one.number, one.customer, one.amount, one.currency, one.due, one.days_late(as_of), step)
            )
    return out.getvalue().encode()


def parse(row: Mapping[str, Any], line: int) -> Invoice:
    """Return the invoice of one row; refuse (BadRow) what is missing or can't be meant."""
    texts = {name: str(row.get(name, "")).strip() for name in row}
    number = texts.get("invoice_no", "")
    if not _NUMBER.match(number):
        raise BadRow(
            f"the invoice number {number!r} is not one" if number else "the invoice number is missing"
        )
    customer = texts.get("customer", "")
    if not customer:
        raise BadRow("the customer is missing")
    if len(customer) > LONGEST_NAME:
        raise BadRow(f"the customer's name has {len(customer)} characters; {LONGEST_NAME} are allowed")
    if any(unicodedata.category(sign) in {"Cc", "Zl", "Zp", "Cs"} for sign in customer):
        raise BadRow("the customer's name holds a line break or a control character")
    address = texts.get("email", "")
    if not email.is_address(address):
        raise BadRow(f"{address!r} is not an e-mail address" if address else "the e-mail address is missing")
    if not _CURRENCY.match(texts.get("currency", "")):
        raise BadRow(f"the currency {texts.get('currency', '')!r} is not one, as in EUR")
    return Invoice(
        line=line,
        number=number,
        customer=texts["customer"],
        email=address,
        amount=_money(texts.get("amount", "")),
        currency=texts["currency"],
        due=_date(texts.get("due_date", "")),
        reminders=_reminders(texts.get("reminders_sent", "")),
    )


def _money(text: str) -> Decimal:
    if not text:
        raise BadRow("the amount is missing")
    match = _MONEY.match(text)
    if match is None:
        raise BadRow(f"the amount {text!r} is not a sum of money, as in 1250.00")
    amount = Decimal(f"{match[1]}{match[2]}.{(match[3] or '').ljust(2, '0')}")
    if amount <= 0:
        raise BadRow(f"the amount {text} is not above zero")
    return amount


def _date(text: str) -> datetime.date:
    try:
        if len(text) != 10:
            raise ValueError(text)
        day = datetime.date.fromisoformat(text)
        if not 1990 <= day.year <= 2200:
            raise ValueError(text)
        return day
    except ValueError as error:
        problem = (
            f"the due date {text!r} is not a day, as in 2026-10-31" if text else "the due date is missing"
        )
        raise BadRow(problem) from error


def _reminders(text: str) -> int:
    if text and not (text.isascii() and text.isdigit() and int(text) <= 9):
        raise BadRow(f"the number of reminders {text!r} is not one")
    return int(text or "0")


def bad_text(bad: Sequence[Mapping[str, Any]]) -> str:
    """Return one sentence about the rows that could not be used."""
    if not bad:
        return "Every row could be used."
    shown = "; ".join(f"line {row['line']}: {row['reason']}" for row in bad[:20])
    more = f"; and {len(bad) - 20} more" if len(bad) > 20 else ""
    noun = "1 row" if len(bad) == 1 else f"{len(bad)} rows"
    return f"{noun} could not be used ({shown}{more})."
