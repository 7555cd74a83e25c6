"""One seed is one plan: what the agent does, where its processes die, how the world and the people behave."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, replace
from typing import Any

from tests.harness import world

PROTECTIONS = ("unprotected", "lookup", "idempotent")
ACTS = ("stop", "pause", "withdraw", "expire", "approve")
CLOCK = frozenset({"due", "expire", "stranded", "wake", "anchor", "anchor_refusals"})
"""The kinds of points that a clock comes to."""
MAX_DEATHS = 4
HANDS_OVER = 0.25
"""How likely a run hands some of its work to another agent."""
REACH = 70
"""A death strikes at one of so many points after the one before it; a quiet run passes about twice as many."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One effect of the run and how the world treats the requests for it."""

    protection: str
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Death:
    """What befalls the process that passes a point: the nth of any name, or the nth pass of a named one."""

    at: int = 1
    how: str = "kill"  # kill; soon (killed a moment later, wherever it is then); stall; act (somebody acts meanwhile)
    point: str = ""
    delay: float = 0.0  # of "soon"
    beside: bool = True  # of "stall": goes on beside the one that took over, or after it
    act: str = ""  # of "act": what is done while the process stands still; of "kill": what is done afterwards
    undying: bool = False  # of "stall": its heartbeat hangs too, and doesn't end it when it is late
    then: Death | None = None  # what befalls the same process afterwards, in the same order
    theirs: Death | None = None  # what befalls the one who acts meanwhile, or who takes over

    def may_strike_a_clock(self) -> bool:
        """Return whether it strikes at any point, or at one that a clock comes to."""
        return not self.point or self.point.partition(".")[0] in CLOCK


@dataclass(frozen=True, kw_only=True)
class People:
    """How likely each behaviour of people is."""

    reject: float = 0.0
    cannot: float = 0.0  # somebody can't answer what the agent asks
    double_click: float = 0.0
    race: float = 0.0
    too_early: float = 0.0
    unknown: float = 0.0
    again: float = 1.0
    stop: float = 0.0
    pause: float = 0.0
    withdraw: float = 0.0
    expire: float = 0.0
    edit: float = 0.0
    extend: float = 0.0
    redrive: float = 0.0  # in the middle of the run
    fork: float = 0.0  # a dry run beside it
    separate: float = 0.0  # a lineage of its own from the same checkpoint
    once_more: float = 0.0  # after it has ended
    turnabout: bool = False  # of two equal proposals the first is refused; done once more, the second
    strand: float = 0.0  # a wake-up is lost, as no code may lose it: the net under it must find the run


RESTLESS = People(
    reject=0.08, double_click=0.2, race=0.15, too_early=0.5, unknown=0.08, again=0.7, stop=0.03, pause=0.04,
    withdraw=0.06, expire=0.04, redrive=0.04, once_more=0.1, fork=0.02, edit=0.05,
    extend=0.02, cannot=0.2,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that happens in one trial."""

    seed: int
    tag: str = "seed"
    effects: tuple[Effect, ...]
    deaths: tuple[Death, ...] = ()
    people: People = People()
    twice: bool = False  # each effect is asked for twice in one reply
    policy: str = (
        ""  # one that is set before the run and taken back after it: quorum (of two), allow (everything)
    )
    age: float = 0.0  # how likely the window of a key passes while nobody looks
    reads: tuple[str, ...] = ()  # how the world treats the reads of the run
    question: bool = False  # the agent asks people something before it acts
    handed: int = 0  # so many of the effects, the last ones, are another agent's, to whom they are handed
    local: bool = False  # the provider asks nobody, so that what is known waits for its reply

    def chance(self, *what: object) -> random.Random:
        """Return the dice for one choice: the same in each process, however often it is asked."""
        return random.Random(":".join(str(part) for part in (self.seed, *what)))

    def name(self) -> str:
        """Return what this plan is called by."""
        return f"{self.tag} {self.seed}"

    def given(self, tag: str) -> tuple[dict[str, Any], dict[str, list[str]]]:
        """Return the run's input, and the faults of each effect by its name, which begins with the tag."""
        own: dict[str, list[str]] = {"unprotected": [], "lookup": [], "idempotent": []}
        theirs: dict[str, list[str]] = {"unprotected": [], "lookup": [], "idempotent": []}
        faults = {}
        for index, effect in enumerate(self.effects):
            rows = own if index < len(self.effects) - self.handed else theirs
            rows[effect.protection] += [f"{tag}-{index}"] * (2 if self.twice else 1)
            faults[f"{tag}-{index}"] = list(effect.faults)
        given: dict[str, Any] = {"name": tag, "again": f"{tag}-again", **own}
        given |= {"asks": self.question, "local": self.local}
        if self.handed:
            given["below"] = {"name": f"{tag}-below", **theirs}
        return given, faults

    def as_json(self) -> dict[str, Any]:
        """Return the plan as JSON, for a process that acts by it; who acts needn't know who dies."""
        return asdict(replace(self, deaths=()))


def read(value: dict[str, Any]) -> Plan:
    """Return the plan that `as_json` gave: without its deaths, which nobody knows beforehand."""
    parts = dict(value)
    parts["effects"] = tuple(
        Effect(protection=item["protection"], faults=tuple(item["faults"])) for item in value["effects"]
    )
    parts |= {"deaths": (), "people": People(**value["people"]), "reads": tuple(value["reads"])}
    return Plan(**parts)


def make(seed: int) -> Plan:
    """Return the plan of a seed."""
    dice = random.Random(seed)
    effects = tuple(
        Effect(
            protection=dice.choice(PROTECTIONS),
            faults=tuple(dice.choices(world.FAULTS, weights=(8, 1, 1, 1, 1, 1, 0.5, 0.5), k=3)),
        )
        for _ in range(dice.choices((1, 2, 3), weights=(1, 2, 2))[0])
    )
    deaths = tuple(_death(dice) for _ in range(dice.randint(0, MAX_DEATHS)))
    question = dice.random() < 0.4
    hands = random.Random(f"hands {seed}")  # dice of their own: what else a seed means stays as it is
    handed = hands.randint(1, len(effects)) if hands.random() < HANDS_OVER else 0
    return Plan(
        seed=seed, effects=effects, deaths=deaths, people=RESTLESS, age=0.1, question=question, handed=handed
    )


def _death(dice: random.Random) -> Death:
    how = dice.choices(("kill", "soon", "stall", "act"), weights=(5, 2, 2, 2))[0]
    return Death(
        at=dice.randint(1, REACH),
        how=how,
        delay=dice.random() * 0.006,
        beside=dice.random() < 0.5,
        act=dice.choice(ACTS) if how == "act" or dice.random() < 0.1 else "",
        undying=dice.random() < 0.5,
    )


def death(value: dict[str, Any] | None) -> Death | None:
    """Return the death that `asdict` gave, with what follows it."""
    if value is None:
        return None
    return Death(**{**value, "then": death(value["then"]), "theirs": death(value["theirs"])})
