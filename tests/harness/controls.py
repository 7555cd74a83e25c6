"""Negative controls: ways to build the engine wrongly. Each must be caught, or the harness proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from runs import planner, state
from runs.transitions import decisions
from runs.transitions.steps import settle


def _naive_retry() -> list[Any]:
    """An unknown outcome is simply sent again."""

    def again(now: planner.Situation, call: state.CallState) -> planner.Act:
        return planner.Act(call=call, resend=True)

    return [mock.patch.object(planner, "settle", again)]


def _absent_at_once() -> list[Any]:
    """A look-up that finds nothing counts at once, before the request can no longer arrive."""
    real = planner.settle

    def hasty(now: planner.Situation, call: state.CallState) -> Any:
        found = real(now, call)
        if isinstance(found, planner.LookUp):
            return planner.LookUp(call=call, absence_counts=True, may_send=found.may_send)
        return found

    return [mock.patch.object(planner, "settle", hasty)]


def _early_answer() -> list[Any]:
    """'It did not happen' is taken from a look before the horizon."""
    return [mock.patch.object(decisions, "_check_horizon", return_value=None)]


def _one_proof_for_all() -> list[Any]:
    """A proof about the last send is taken for a proof about every send."""
    return [mock.patch.object(settle, "_disproved", return_value=True)]


CONTROLS: dict[str, Callable[[], list[Any]]] = {
    "naive-retry": _naive_retry,
    "absent-at-once": _absent_at_once,
    "early-answer": _early_answer,
    "one-proof-for-all": _one_proof_for_all,
}


@contextmanager
def broken(name: str) -> Iterator[None]:
    """Build the engine wrongly in this way while the block runs; nothing is broken without a name."""
    with ExitStack() as stack:
        for patch in CONTROLS[name]() if name else []:
            stack.enter_context(patch)
        yield
