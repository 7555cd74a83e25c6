"""What a piece of work of each kind is: started, advanced and decided by the product itself."""

from __future__ import annotations

import datetime
import itertools
from typing import Any
from unittest import mock

from runs import lifecycle, models, seed
from runs.demo import setup as demo
from runs.engine import worker
from runs.providers import declared
from runs.tools import contract, registry
from runs.transitions import decisions, holds, redrives, starts
from runs.transitions.actor import Actor
from tests.bench.seeding import words

HUGE = 5_000
"""Steps of the longest run; it has twice as many lines."""
_TOOLS = ("memory.recall", "email.send", "ledger.post_late_fee", "correspondence.read_letter")
_numbers = itertools.count(1)


def _read(number: int) -> dict[str, Any]:
    customer, invoice = words.stand_in(number)
    return {
        "tool": "memory.recall",
        "arguments": {"subject": f"customer {customer}", "words": f"INV-{invoice}"},
    }


def _mail(number: int) -> dict[str, Any]:
    customer, invoice = words.stand_in(number)
    return {
        "tool": "email.send",
        "arguments": {
            "to": f"accounts.{customer.lower()}@example.com",
            "subject": f"Invoice INV-{invoice} is overdue",
            "body": f"Dear {customer},\n\ninvoice INV-{invoice} was due two weeks ago. Please let us know by the end "
            "of next week when we may expect it, or whom we may ask.\n\nKind regards\nAccounts receivable",
            "reference": f"Reminder 1 for invoice INV-{invoice}",
        },
    }


def _fee(number: int) -> dict[str, Any]:
    customer, invoice = words.stand_in(number)
    fee = {"invoice_no": f"INV-{invoice}", "customer": customer, "amount": "40.00", "currency": "EUR"}
    return {"tool": "ledger.post_late_fee", "arguments": {**fee, "period": "2026-11"}}


def _reply(*calls: dict[str, Any]) -> dict[str, Any]:
    usage = {"tokens_in": 1200, "tokens_out": 60, "cost_micro": 1100}
    return {
        "text": "I look at what is known, and go on from there.",
        "calls": [{**call, "label": f"call-{next(_numbers)}"} for call in calls],
        "usage": usage,
    }


def _start(agent: str, *replies: dict[str, Any], title: str = "") -> models.Run:
    """Return a new run of a version of the agent that gives these replies."""
    slug = agent.lower().replace(" ", "-")
    seed.register(
        declared.Agent(
            name=slug, title=agent, provider="replay", definition={"replies": list(replies)}, tools=_TOOLS,
            input_schema={"type": "object", "properties": {"customer": {"type": "string"}}},
            budget={"steps": 20_000, "calls": 20_000},
        )
    )  # fmt: skip
    customer, invoice = words.stand_in(0)
    return starts.start_run(
        slug,
        input={"customer": customer},
        title=title or f"{customer}: invoice INV-{invoice}",
        by=_by("operator"),
        token=_token(),
    )


def _by(name: str) -> Actor:
    return Actor(user=models.User.objects.get(username=name))


def _token() -> str:
    """Return a token that is one of a pattern; each cast gets others."""
    return f"seeded-{next(_numbers):06d}-{next(_numbers):06d}"


def _answered(run: models.Run, *verdicts: str, by: str = "reviewer") -> models.Run:
    """Answer the run's open questions in their order, the last verdict for all that are left, until none is open."""
    given = list(verdicts)
    worker.drain(until_idle=False)
    while (review := models.Review.objects.filter(run=run, status="open").order_by("pk").first()) is not None:
        verdict = given.pop(0) if len(given) > 1 else given[0]
        answer(review, verdict, by=by)
        worker.drain(until_idle=False)
    run.refresh_from_db()
    return run


def answer(review: models.Review, verdict: str, *, by: str = "reviewer", **more: Any) -> None:
    """Answer a question as somebody who has read it."""
    retype = (review.content or {}).get("retype")
    decisions.decide(
        review.pk,
        decisions.Answer(
            verdict=verdict, revision=review.revision, digest=review.digest, reason="Checked against the books.",
            evidence_number=review.evidence_number, token=_token(), retype=retype["value"] if retype else "", **more,
        ),
        by=_by(by),
    )  # fmt: skip


def plain(agent: str) -> models.Run:
    return _start(agent, *(_reply(_read(number)) for number in range(3)))


def asked(agent: str) -> models.Run:
    run = _start(agent, _reply(_read(0)), _reply(_mail(0)), _reply(_read(1)))
    return _answered(run, decisions.APPROVE)


def rejected(agent: str) -> models.Run:
    run = _start(agent, _reply(_read(0)), _reply(_mail(0), _mail(1)))
    return _answered(run, decisions.REJECT, decisions.APPROVE)


def fined(agent: str) -> models.Run:
    run = _start(agent, _reply(_read(0)), _reply(_mail(0), _fee(0)), _reply(_read(1)))
    return _answered(run, decisions.APPROVE)


def stopped(agent: str) -> models.Run:
    run = _start(agent, _reply(_read(0)), _reply(_mail(0)))
    worker.drain(until_idle=False)
    holds.stop(run.pk, reason="The customer has paid meanwhile.", by=_by("operator"))
    return run


def failing(agent: str) -> models.Run:
    """Return a run whose letter hasn't come: it fails, and somebody is asked."""
    slug = f"{agent.lower().replace(' ', '-')}-post"
    step = {"id": "read", "title": "Read the letter", "tool": "correspondence.read_letter",
            "with": {"letter": "${input.letter}"}}  # fmt: skip
    end = {"id": "end", "title": "End", "finish": {"summary": "The letter was read."}}
    if not models.Agent.objects.filter(name=slug).exists():
        seed.register(
            declared.Agent(
                name=slug, title=f"{agent}, post", provider="playbook", definition={"steps": [step, end]},
                tools=_TOOLS, input_schema={"type": "object", "properties": {"letter": {"type": "string"}}},
            )
        )  # fmt: skip
    customer, invoice = words.stand_in(0)
    run = starts.start_run(
        slug, input={"letter": customer.lower()}, title=f"{customer}: letter about INV-{invoice}",
        by=_by("operator"), token=_token(),
    )  # fmt: skip
    worker.drain(until_idle=False)
    run.refresh_from_db()
    assert run.status == lifecycle.Run.FAILED, run.status
    return run


def given_up(agent: str) -> models.Run:
    run = failing(agent)
    answer(models.Review.objects.get(run=run, status="open"), decisions.STOP, by="operator")
    return run


def redriven(agent: str) -> models.Run:
    run = _start(agent, _reply(_read(0)), _reply(_mail(0)), _reply(_mail(1)))
    _answered(run, decisions.APPROVE, decisions.REJECT)
    new = redrives.redrive(
        run.pk, checkpoint=2, reason="The second letter may go as well.", by=_by("operator"), token=_token()
    )
    return _answered(new, decisions.APPROVE)


def medium(agent: str) -> models.Run:
    letters = _reply(*(_mail(number) for number in range(8)))
    run = _start(agent, *(_reply(_read(number)) for number in range(25)), letters, _reply(_read(1)))
    return _answered(run, decisions.APPROVE, decisions.REJECT, decisions.APPROVE)


def long(agent: str) -> models.Run:
    parts = [
        *(_reply(_read(number)) for number in range(220)),
        _reply(*(_mail(number) for number in range(20))),
        *(_reply(_read(number)) for number in range(60)),
    ]
    return _answered(_start(agent, *parts), decisions.APPROVE)


def huge(agent: str, steps: int = HUGE) -> models.Run:
    return _start(
        agent, *(_reply(_read(number % 500)) for number in range(steps)), title="All invoices of the year"
    )


def receivables(_agent: str) -> models.Run:
    return _answered(_of_demo(), decisions.APPROVE, decisions.REJECT, decisions.APPROVE)


def _of_demo() -> models.Run:
    file, title, _ = demo.RUNS[0]
    like = models.Run.objects.get(start_token=f"demo:{file}")
    return starts.start_run("receivables", input=like.input, title=title, by=_by("operator"), token=_token())


def waiting_mails(agent: str) -> models.Run:
    return _start(agent, _reply(_read(0)), _reply(*(_mail(number) for number in range(10))))


def waiting_fees(agent: str) -> models.Run:
    return _start(agent, _reply(_read(0)), _reply(*(_fee(number) for number in range(10))))


def waiting_question(agent: str) -> models.Run:
    customer, invoice = words.stand_in(0)
    ask = {"tool": "ask_human", "arguments": {"question": f"May {customer} pay INV-{invoice} in two parts?"}}
    return _start(agent, _reply(_read(0)), _reply(ask))


def in_doubt(agent: str) -> models.Run:
    """Return a run with a letter of which nobody knows whether it went out."""

    def lost(*_: Any, **__: Any) -> contract.Receipt:
        raise ConnectionError("The answer was lost.")

    run = _start(agent, _reply(_mail(0)))
    worker.drain(until_idle=False)
    soon = datetime.timedelta(seconds=0.3)
    losing: dict[str, Any] = {"run": lost, "lookup": lost, "timeout": soon, "settle": soon}
    with mock.patch.multiple(type(registry.get("email.send")), **losing):
        answer(models.Review.objects.get(run=run, status="open"), decisions.APPROVE)
        worker.drain(until_idle=True)
    return run
