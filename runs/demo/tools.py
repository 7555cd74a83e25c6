"""The demo's tools, found at start-up like `admin.py`: two that read, and one that books and books back."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any

import pydantic
from django.conf import settings
from pydantic_core import PydanticCustomError

from runs.demo import correspondence as correspondence  # its tool is registered with these
from runs.demo import invoices, ledger, letters
from runs.tools import contract, registry


def _above_zero(value: str) -> str:
    if Decimal(value) == 0:
        raise PydanticCustomError("above_zero", "the amount must be above zero")
    return value


Day = Annotated[str, pydantic.Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Money = Annotated[
    str, pydantic.Field(pattern=r"^[0-9]{1,9}\.[0-9]{2}$"), pydantic.AfterValidator(_above_zero)
]
Currency = Annotated[str, pydantic.Field(pattern=r"^[A-Z]{3}$")]
Word = Annotated[str, pydantic.Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
InvoiceNo = Annotated[str, pydantic.Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9/._-]{0,39}$")]


class AssessArguments(contract.Arguments):
    """The rows of the file, those that didn't fit its header, and the day to count from."""

    rows: tuple[dict[str, str | int], ...] = pydantic.Field(max_length=5_000)
    bad_rows: tuple[dict[str, str | int], ...] = ()
    as_of: Day


MOST = 500
"""So many reminders, and fees, are people willing to read in one run."""


@registry.register
class Assess(contract.Tool):
    """Decide who is overdue, at which stage, and who is charged a fee."""

    name = "receivables.assess"
    title = "Find out who is overdue"
    effect = contract.Effect.READ
    Arguments = AssessArguments

    def run(self, args: AssessArguments, ctx: contract.Context) -> contract.Receipt:
        """Return {"reminders", "fees", "not_due", "bad", "bad_text"}; every row is in exactly one of them.

        `overdue` is a file: the list of who owes what, for people.
        """
        as_of = _day(args.as_of)
        found = invoices.assess(args.rows, as_of)
        if len(found.reminders) > MOST or len(found.fees) > MOST:
            raise contract.DidNotHappen(
                f"{len(found.reminders)} reminders and {len(found.fees)} fees are due; one run takes {MOST} of each "
                "at most, so split the file."
            )
        problems = [
            *found.bad,
            *((int(row.get("line", 0)), str(row.get("reason", ""))) for row in args.bad_rows),
        ]
        bad = [{"line": line, "reason": reason} for line, reason in sorted(problems)]
        value = {
            "reminders": [
                {
                    "invoice_no": one.number,
                    "customer": one.customer,
                    "email": one.email,
                    "amount": str(one.amount),
                    "currency": one.currency,
                    "due_date": one.due.isoformat(),
                    "days_late": one.days_late(as_of),
                    "stage": one.stage(as_of),
                }
                for one in found.reminders
            ],
            "fees": [
                {
                    "invoice_no": one.number,
                    "customer": one.customer,
                    "amount": str(invoices.FEE),
                    "currency": one.currency,
                    "period": as_of.strftime("%Y-%m"),
                    "days_late": one.days_late(as_of),
                }
                for one in found.fees
            ],
            "not_due": found.not_due,
            "bad": bad,
            "bad_text": invoices.bad_text(bad),
            "overdue": ctx.attach(f"overdue-{args.as_of}.csv", invoices.as_csv(found, as_of)).model_dump(),
        }
        summary = f"{len(found.reminders)} to remind, {len(found.fees)} to charge, {found.not_due} not due. "
        return contract.Receipt(summary=summary + invoices.bad_text(bad), value=value)


class Reminder(pydantic.BaseModel):
    """One invoice to be reminded of."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    invoice_no: InvoiceNo
    customer: Word
    email: str
    amount: Money
    currency: Currency
    due_date: Day
    days_late: int
    stage: int = pydantic.Field(ge=1, le=3)


class DraftArguments(contract.Arguments):
    """Whom to write to, and the day on which the letters are written."""

    reminders: tuple[Reminder, ...] = pydantic.Field(max_length=MOST)
    as_of: Day


@registry.register
class DraftLetters(contract.Tool):
    """Write each reminder; nothing is sent."""

    name = "receivables.draft_letters"
    title = "Write the reminders"
    effect = contract.Effect.READ
    Arguments = DraftArguments

    def run(self, args: DraftArguments, ctx: contract.Context) -> contract.Receipt:
        """Return {"letters"}: address, subject, body and reference of each."""
        as_of = _day(args.as_of)
        written = [
            {
                "invoice_no": one.invoice_no,
                "customer": one.customer,
                "stage": one.stage,
                "to": one.email,
                "subject": letters.subject(one.stage, one.invoice_no),
                "body": letters.body(
                    one.stage,
                    customer=one.customer,
                    number=one.invoice_no,
                    amount=Decimal(one.amount),
                    currency=one.currency,
                    due=_day(one.due_date),
                    as_of=as_of,
                ),
                "reference": f"Reminder {one.stage} for invoice {one.invoice_no}",
            }
            for one in args.reminders
        ]
        return contract.Receipt(summary=f"{len(written)} letters written.", value={"letters": written})


class LateFeeArguments(contract.Arguments):
    """One late fee on one invoice in one month."""

    invoice_no: InvoiceNo
    customer: Word
    amount: Money
    currency: Currency
    period: Annotated[str, pydantic.Field(pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])$")]


@registry.register
class PostLateFee(contract.Tool):
    """Post a late fee to the ledger. No row of it is ever taken away; an undo books the same amount back."""

    name = "ledger.post_late_fee"
    title = "Post a late fee"
    effect = contract.Effect.IRREVERSIBLE
    tier = 3
    protection = contract.Protection.LOOKUP
    timeout = timedelta(seconds=10)
    settle = timedelta(seconds=2)  # a local write ends with its process
    identity = ("invoice_no", "period")
    decisive = ("amount", "customer")
    undo_protection = contract.Protection.LOOKUP
    Arguments = LateFeeArguments

    def run(self, args: LateFeeArguments, ctx: contract.Context) -> contract.Receipt:
        """Return the number of the new ledger row; refuse (DidNotHappen) what failed before the commit."""
        return _receipt(args, _book(args, args.amount, ctx))

    def lookup(
        self, args: LateFeeArguments, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        """Return the receipt if the ledger has a row under one of the keys."""
        number = ledger.find(settings.CKPTSITE_LEDGER, keys)
        return None if number is None else _receipt(args, number)

    def verify(
        self, args: LateFeeArguments, receipt: contract.Receipt, ctx: contract.Context
    ) -> contract.Verification:
        """Return whether the ledger has this very fee under the key."""
        found = ledger.row(settings.CKPTSITE_LEDGER, ctx.idempotency_key)
        if found is None:
            return contract.Verification(holds=False, summary="The ledger has no such row.")
        said = f"The ledger has a fee of {found.amount} {found.currency} for {found.customer}."
        return contract.Verification(holds=found == ledger.Fee(**args.model_dump()), summary=said)

    def preview(self, args: LateFeeArguments, ctx: contract.Context) -> contract.Preview:
        """Return what will be posted."""
        money = f"{args.amount} {args.currency}"
        return contract.Preview(
            summary=f"Post a late fee of {money} for {args.customer}.",
            target=args.customer,
            facts=(
                ("Customer", args.customer),
                ("Invoice", args.invoice_no),
                ("Month", args.period),
                ("Amount", money),
            ),
            money=money,
            audience="1 customer",
            reversal="The entry stays for good. An undo books the amount back, as a second entry with its own release.",
        )

    def undo(
        self, args: LateFeeArguments, receipt: contract.Receipt, ctx: contract.Context
    ) -> contract.Receipt:
        """Return the number of the row that balances the fee; refuse (DidNotHappen) what failed before the commit."""
        return _booked_back(args, _book(args, f"-{args.amount}", ctx))

    def undo_lookup(
        self, args: LateFeeArguments, receipt: contract.Receipt, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        """Return the receipt if the ledger has a balancing row under one of the keys."""
        number = ledger.find(settings.CKPTSITE_LEDGER, keys)
        return None if number is None else _booked_back(args, number)

    def undo_preview(
        self, args: LateFeeArguments, receipt: contract.Receipt, ctx: contract.Context
    ) -> contract.Preview:
        """Return what will be booked back."""
        money = f"{args.amount} {args.currency}"
        return contract.Preview(
            summary=f"The late fee of {money} for {args.customer} is booked back.",
            target=args.customer,
            facts=(
                ("Customer", args.customer),
                ("Invoice", args.invoice_no),
                ("Month", args.period),
                ("Booked back", money),
                ("Was posted as", receipt.summary),
            ),
            money=f"-{money}",
            audience="1 customer",
            reversal="Both entries stay in the ledger. Afterwards the fee can only be posted anew.",
        )

    def precondition(self, args: LateFeeArguments, ctx: contract.Context) -> Mapping[str, Any]:
        """Return what this invoice was charged so far: the decision rests on it."""
        found = ledger.balance(settings.CKPTSITE_LEDGER, args.invoice_no)
        return {"late_fees_so_far": found.total, "entries": found.entries}

    def identity_of(self, args: LateFeeArguments) -> Any:
        """Return invoice and month, without regard to the case of the invoice number."""
        return {"invoice_no": args.invoice_no.casefold(), "period": args.period}


def _receipt(args: LateFeeArguments, number: int) -> contract.Receipt:
    summary = f"Late fee of {args.amount} {args.currency} posted for {args.customer} as ledger row {number}."
    return contract.Receipt(summary=summary, value={"row": number, "invoice_no": args.invoice_no})


def _book(args: LateFeeArguments, amount: str, ctx: contract.Context) -> int:
    left = ctx.remaining()
    if left <= 0:
        raise contract.DidNotHappen("The time for this fee was over before it was posted.", retryable=True)
    fee = ledger.Fee(**(args.model_dump() | {"amount": amount}))
    try:
        return ledger.post(settings.CKPTSITE_LEDGER, ctx.idempotency_key, fee, timeout=left)
    except ledger.NotPosted as error:
        raise contract.DidNotHappen(str(error)) from error


def _booked_back(args: LateFeeArguments, number: int) -> contract.Receipt:
    summary = (
        f"Late fee of {args.amount} {args.currency} for {args.customer} booked back as ledger row {number}."
    )
    return contract.Receipt(summary=summary, value={"row": number, "invoice_no": args.invoice_no})


def _day(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise contract.DidNotHappen(f"There is no day {text}.") from error
