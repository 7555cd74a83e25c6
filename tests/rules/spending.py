"""Accounts and providers for the tests of budgets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from runs import models
from runs.engine import accounts
from runs.providers import contract
from runs.providers.playbook import Playbook
from runs.transitions import decisions
from tests.engine.conftest import answer, step


def looks(count: int) -> list[dict[str, Any]]:
    """So many steps that each look at something: a reply and a tool call for each."""
    return [step("look", f"n{number}", id=f"s{number}") for number in range(count)]


def account(run: models.Run, measure: str) -> models.Account:
    """The account of the run's lineage."""
    return models.Account.objects.get(root=run.root_id, measure=measure)


def balance(run: models.Run, measure: str) -> tuple[int, int]:
    """What the lineage's account counts as spent and as reserved; every account adds up."""
    assert accounts.differences() == []
    found = account(run, measure)
    return found.spent, found.advanced


def asked(run: models.Run) -> models.Review:
    """The run's open budget question."""
    return models.Review.objects.get(run=run, status="open", kind="budget")


def raise_by(run: models.Run, operator: models.User, amount: int, **more: Any) -> models.Decision:
    """Answer the run's budget question with a raise."""
    return answer(asked(run), operator, "raise", amount=amount, **more)


@contextmanager
def paid(
    tokens_in: int, tokens_out: int, cost_micro: int | None, *, most: int | None = None
) -> Iterator[None]:
    """Let each reply cost so much; `most` tokens out are what it may cost at most, as it is estimated."""
    real = Playbook.complete

    def complete(self: Playbook, request: contract.Request, *, timeout: float) -> contract.Reply:
        reply = real(self, request, timeout=timeout)
        usage = contract.Usage(tokens_in=tokens_in, tokens_out=tokens_out, cost_micro=cost_micro)
        return contract.Reply(text=reply.text, calls=reply.calls, usage=usage)

    def estimate(self: Playbook, request: contract.Request) -> contract.Usage:
        return contract.Usage(
            tokens_in=tokens_in, tokens_out=tokens_out if most is None else most, cost_micro=cost_micro
        )

    with (
        mock.patch.object(Playbook, "local", False),  # what costs something is asked of somebody else
        mock.patch.object(Playbook, "complete", complete),
        mock.patch.object(Playbook, "estimate", estimate),
    ):
        yield


__all__ = ["account", "asked", "balance", "decisions", "looks", "paid", "raise_by"]
