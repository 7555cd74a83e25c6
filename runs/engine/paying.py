"""What a model call may cost, asked before it is made; and what is booked for a call whose worker was lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runs import measures, planner
from runs.engine import frontier as frontiers
from runs.providers import contract
from runs.providers import registry as providers
from runs.transitions import steps, usage


class TooLittle(Exception):
    """The run's advance doesn't cover what the next call may cost."""

    def __init__(self, need: Mapping[str, int]) -> None:
        super().__init__(f"needs {dict(need)}")
        self.need = need


def check(front: frontiers.Frontier, provider: contract.Provider, request: contract.Request) -> None:
    """Refuse (TooLittle) a call that may cost more than the run still holds; without limits nothing is asked.

    Where nobody knows the price a limit of money holds nothing back: tokens have to be limited then (ProviderError).
    """
    left = front.situation.left
    if not left:
        return
    most = provider.estimate(request)
    if most.cost_micro is None and measures.Measure.COST in left and measures.Measure.TOKENS not in left:
        raise contract.ProviderError(
            f"The price of {front.agent.model or front.agent.provider} is unknown, so a limit of money can't hold it"
            " back. Limit its tokens too, then let it try again."
        )
    need = {
        **planner.ONE_REPLY,
        measures.Measure.TOKENS: most.tokens_in + most.tokens_out,
        measures.Measure.COST: most.cost_micro or 0,
    }
    if front.situation.lacks(need):
        raise TooLittle(need)


def book_lost_call(claim: steps.Claim, request_of: Callable[[frontiers.Frontier], contract.Request]) -> None:
    """Book one estimated call if the claim that was taken over may have been calling the provider when it died."""
    front = frontiers.load(claim)
    if not planner.was_calling(front.situation):
        return
    try:
        most = providers.get(front.agent.provider).estimate(request_of(front))
    except contract.ProviderError:  # then it could not have been called either
        return
    if _costs(most):
        steps.book_call(claim, as_json(most), lost_by=claim.fence - 1)


def book_given_up(claim: steps.Claim, provider: contract.Provider, request: contract.Request) -> None:
    """Book what a call may have cost whose answer this worker no longer waits for."""
    most = provider.estimate(request)
    if _costs(most):
        steps.book_call(claim, as_json(most), lost_by=claim.fence)


def book_unusable(claim: steps.Claim, real: contract.Usage) -> None:
    """Book what a reply has cost that can't be stored as one."""
    if _costs(real):
        steps.book_call(claim, as_json(real), lost_by=None)


def tell_late(claim: steps.Claim, real: contract.Usage) -> None:
    """Say what a reply has cost that came after its worker had lost the run."""
    if _costs(real):
        usage.late(claim.run_id, fence=claim.fence, usage=as_json(real))


def _costs(found: contract.Usage) -> bool:
    return bool(found.tokens_in or found.tokens_out or found.cost_micro or found.cost_micro is None)


def as_json(found: contract.Usage) -> dict[str, Any]:
    """Return a usage as the log tells it."""
    return {
        "tokens_in": found.tokens_in,
        "tokens_out": found.tokens_out,
        "cost_micro": found.cost_micro,
    }
