"""What a step of the plan says about trying its call again: what provably did not happen, never what is unknown."""

from __future__ import annotations

from dataclasses import dataclass

from runs.engine import frontier as frontiers
from runs.providers import playbook_format


@dataclass(frozen=True, kw_only=True)
class Retry:
    """So many times more, and so many seconds between two tries."""

    times: int
    wait: float


def of(front: frontiers.Frontier, step: str | None) -> Retry | None:
    """Return what the step asks for, or None: then what the engine does by itself is all."""
    found = next((one for one in front.situation.state.plan if one.id == step), None)
    wanted = playbook_format.retry(found.body) if found is not None else None
    return None if wanted is None else Retry(times=wanted[0], wait=wanted[1])
