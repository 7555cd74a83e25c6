"""The reminder letters, one wording per stage. Pure: the same invoice gives the same letter."""

from __future__ import annotations

import datetime
from decimal import Decimal

SENDER = "Nordhof Office Supplies\nAccounts receivable"

_SUBJECTS = {
    1: "Invoice {number} is open",
    2: "Second reminder: invoice {number}",
    3: "Last reminder: invoice {number}",
}

_FIRST = """\
our invoice {number} for {sum} was due on {due} and is still open with us.
Perhaps it was overlooked.

Please transfer the amount by {until}. If you have paid in the meantime,
please ignore this letter.

If something is wrong with the delivery or the invoice, a short answer is
enough and we will look into it."""

_SECOND = """\
we wrote to you about our invoice {number} for {sum}. It was due on
{due}, {days} days ago, and we have not received a payment.

Please transfer the amount by {until}, or let us know when we can
expect it. If you need a copy of the invoice, we will send one at once."""

_LAST = """\
in spite of two reminders our invoice {number} for {sum} is still open.
It was due on {due}, {days} days ago.

Please transfer the full amount by {until}. After that day we charge a
late fee and stop further deliveries on account.

We would rather find a way together: please call us if you can't pay the
whole amount now."""

_BODIES = {1: _FIRST, 2: _SECOND, 3: _LAST}

_MONTHS = (  # not the system's names: a letter must not change with the machine's language
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def subject(stage: int, number: str) -> str:
    """Return the subject of the reminder of this stage."""
    return _SUBJECTS[stage].format(number=number)


def body(
    stage: int,
    *,
    customer: str,
    number: str,
    amount: Decimal,
    currency: str,
    due: datetime.date,
    as_of: datetime.date,
) -> str:
    """Return the whole letter; the new day to pay by is ten days after `as_of`."""
    text = _BODIES[stage].format(
        number=number,
        sum=f"{amount:,.2f} {currency}",
        due=day(due),
        days=(as_of - due).days,
        until=day(as_of + datetime.timedelta(days=10)),
    )
    return f"Dear {customer} team,\n\n{text}\n\nKind regards\n{SENDER}\n"


def day(date: datetime.date) -> str:
    """Return a day as in a letter: 3 November 2026."""
    return f"{date.day} {_MONTHS[date.month - 1]} {date.year}"
