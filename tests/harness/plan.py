"""One seed is one plan: what the agent does, where its workers die, how the world and the people behave."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.harness import world

PROTECTIONS = ("unprotected", "lookup", "idempotent")
MAX_LIVES = 4


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One effect of the run and how the world treats the requests for it."""

    protection: str
    faults: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Death:
    """One worker's end: at the nth point it passes, killed, or stopped for a while and then let go on."""

    at: int
    how: str  # kill, stall
    point: str = ""  # a named point instead of the nth


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that happens in one trial."""

    seed: int
    effects: tuple[Effect, ...]
    deaths: tuple[Death, ...]
    reject: float = 0.1
    stop: float = 0.05
    double_click: float = 0.3
    too_early: float = 0.5
    rng: random.Random = field(default_factory=random.Random, compare=False, repr=False)


def make(seed: int) -> Plan:
    """Return the plan of a seed."""
    rng = random.Random(seed)
    effects = tuple(
        Effect(
            protection=rng.choice(PROTECTIONS),
            faults=tuple(rng.choices(world.FAULTS, weights=(6, 1, 1, 1, 1, 1, 1), k=3)),
        )
        for _ in range(3)
    )
    deaths = tuple(
        Death(at=rng.randint(1, 45), how=rng.choices(("kill", "stall"), weights=(4, 1))[0])
        for _ in range(rng.randint(0, MAX_LIVES))
    )
    return Plan(seed=seed, effects=effects, deaths=deaths, rng=random.Random(seed + 1))


def at_point(seed: int, *, point: str, protection: str, attempt: int, fault: str = "none") -> Plan:
    """Return the plan that dies at one named point, when it is passed for the `attempt`th time."""
    return Plan(
        seed=seed,
        effects=(Effect(protection=protection, faults=(fault,)),),
        deaths=(Death(at=attempt, how="kill", point=point),),
        reject=0.0,
        stop=0.0,
        rng=random.Random(seed),
    )
