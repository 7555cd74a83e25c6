"""The demo's agents. The first reads open invoices, reminds those who are late, and posts a late fee for the worst."""

from runs.demo import driven
from runs.demo.correspondence import CORRESPONDENCE
from runs.providers import declared

COLUMNS = ["invoice_no", "customer", "email", "amount", "currency", "due_date", "reminders_sent"]

INPUT = {
    "type": "object",
    "required": ["file", "as_of"],
    "additionalProperties": False,
    "properties": {
        "file": {
            "type": "object",
            "format": "file",
            "title": "Open invoices",
            "description": f"A CSV file with the columns {', '.join(COLUMNS)}.",
        },
        "as_of": {
            "type": "string",
            "format": "date",
            "default": "today",
            "title": "As of",
            "description": "The day on which overdue days are counted.",
        },
    },
}

STEPS = [
    {
        "id": "read",
        "title": "Read ${input.file.path}",
        "tool": "files.read_csv",
        "with": {"file": "${input.file}", "required": COLUMNS},
    },
    {
        "id": "assess",
        "title": "Find out who is overdue on ${input.as_of}",
        "tool": "receivables.assess",
        "with": {
            "rows": "${steps.read.rows}",
            "bad_rows": "${steps.read.bad_rows}",
            "as_of": "${input.as_of}",
        },
    },
    {
        "id": "draft",
        "title": "Write the reminders",
        "tool": "receivables.draft_letters",
        "with": {"reminders": "${steps.assess.reminders}", "as_of": "${input.as_of}"},
    },
    {
        "id": "remind",
        "title": "Send the reminders",
        "each": "steps.draft.letters",
        "as": "letter",
        "key": "letter.invoice_no",
        "row_title": "Send reminder ${letter.stage} to ${letter.customer}",
        "tool": "email.send",
        "with": {
            "to": "${letter.to}",
            "subject": "${letter.subject}",
            "body": "${letter.body}",
            "reference": "${letter.reference}",
        },
        "required": False,
        "note": "A reminder that isn't released, or fails, holds up none of the others.",
    },
    {
        "id": "fee",
        "title": "Post the late fees",
        "each": "steps.assess.fees",
        "as": "fee",
        "key": "fee.invoice_no",
        "row_title": "Post a late fee for ${fee.customer}",
        "tool": "ledger.post_late_fee",
        "with": {
            "invoice_no": "${fee.invoice_no}",
            "customer": "${fee.customer}",
            "amount": "${fee.amount}",
            "currency": "${fee.currency}",
            "period": "${fee.period}",
        },
        "required": False,
        "note": "Only where three reminders did not help and the invoice is 60 days late.",
    },
    {
        "id": "end",
        "title": "Sum up",
        "finish": {
            "summary": (
                "${plural(steps.remind.total, 'reminder')}: "
                "${steps.remind.done - steps.remind.kept - steps.remind.simulated} sent"
                "${steps.remind.kept > 0 ? ', ' + string(steps.remind.kept) + ' stood already' : ''}"
                "${steps.remind.simulated > 0 ? ', ' + string(steps.remind.simulated) + ' tried out' : ''}"
                "${steps.remind.refused > 0 ? ', ' + string(steps.remind.refused) + ' not released' : ''}"
                "${steps.remind.failed > 0 ? ', ' + string(steps.remind.failed) + ' failed' : ''}. "
                "${plural(steps.fee.total, 'late fee')}: "
                "${steps.fee.done - steps.fee.kept - steps.fee.simulated} posted"
                "${steps.fee.kept > 0 ? ', ' + string(steps.fee.kept) + ' stood already' : ''}"
                "${steps.fee.simulated > 0 ? ', ' + string(steps.fee.simulated) + ' tried out' : ''}"
                "${steps.fee.refused > 0 ? ', ' + string(steps.fee.refused) + ' not released' : ''}"
                "${steps.fee.failed > 0 ? ', ' + string(steps.fee.failed) + ' failed' : ''}. "
                "${steps.assess.bad_text}"
            ),
            "result": {
                "reminders": "${steps.remind.rows}",
                "fees": "${steps.fee.rows}",
                "not_due": "${steps.assess.not_due}",
                "bad": "${steps.assess.bad}",
            },
        },
    },
]

RECEIVABLES = declared.Agent(
    name="receivables",
    title="Accounts receivable",
    provider="playbook",
    instructions="Remind customers whose invoices are overdue; charge a late fee where reminders did not help.",
    tools=(
        "files.read_csv",
        "receivables.assess",
        "receivables.draft_letters",
        "email.send",
        "ledger.post_late_fee",
    ),
    input_schema=INPUT,
    definition={"steps": STEPS},
)

AGENTS = [RECEIVABLES, CORRESPONDENCE, *driven.agents(INPUT)]
