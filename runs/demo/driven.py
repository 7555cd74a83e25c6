"""The demo's accounts receivable decided by a model: offered where a vendor's key is in the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from runs.demo import invoices
from runs.providers import declared, llm

MODELS = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-5.2"}
"""Which model of a vendor is asked, unless CKPTSITE_DEMO_MODEL names another."""

_FIRST, _SECOND, _THIRD = (days for days, _ in reversed(invoices.STAGES))

INSTRUCTIONS = f"""\
You work in accounts receivable of Nordhof Office Supplies. The input names a file of open invoices and the day to count
from. Read the file, then decide who is to be reminded, and write to each of them.

Reminders: an invoice is reminded once it is {_FIRST} days late (reminder 1), {_SECOND} days (reminder 2) or {_THIRD}
days (reminder 3), counted from its due date. Never skip one: `reminders_sent` says how many were sent before, and the
next is at most one more. Write nothing where the reminder that is due was sent already. Leave out rows with a missing
or impossible date, amount or address, and name them at the end.

Letters: short, polite, plain; signed "Nordhof Office Supplies, Accounts receivable". Name the invoice, its amount with
currency and its due date. The `reference` of a letter is exactly "Reminder <number> for invoice <invoice_no>".

Late fees: {invoices.FEE} in the invoice's currency, once a month, where three reminders were sent before and the
invoice is at least {invoices.FEE_FROM_DAYS} days late. `period` is the month of the day to count from, as YYYY-MM.

Plan one step for each letter and each fee, and send what belongs together in one reply. End with how many reminders
were sent and fees posted, and what was left out and why."""

RESULT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["reminders", "fees", "left_out"],
    "properties": {
        "reminders": {"type": "array", "items": {"type": "string"}, "description": "Invoice numbers."},
        "fees": {"type": "array", "items": {"type": "string"}, "description": "Invoice numbers."},
        "left_out": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Invoice numbers, and why.",
        },
    },
}


def model() -> str:
    """Return the model that the environment has a key for, or an empty text."""
    asked = os.environ.get("CKPTSITE_DEMO_MODEL", "")
    for vendor, key in llm.KEYS.items():
        if os.environ.get(key) and (not asked or asked.startswith(f"{vendor}:")):
            return asked or f"{vendor}:{MODELS[vendor]}"
    return ""


def agents(input_schema: Mapping[str, Any]) -> list[declared.Agent]:
    """Return the agent where a model can be asked, or nothing."""
    asked = model()
    if not asked or not llm.installed():
        return []
    return [
        declared.Agent(
            name="receivables-model",
            title="Accounts receivable, by a model",
            provider="llm",
            model=asked,
            instructions=INSTRUCTIONS,
            tools=("files.read_csv", "email.send", "ledger.post_late_fee"),
            input_schema=input_schema,
            definition={"output_schema": RESULT, "max_tokens": 8_000},
            budget={"steps": 60, "calls": 60, "tokens": 1_500_000, "cost_micro": 5_000_000},
        )
    ]
