"""Patterns: pieces of work of every kind, started, advanced and decided by the product itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from runs import models, telling
from runs.demo import setup as demo
from runs.engine import worker
from runs.transitions import notice_settings, team
from runs.transitions.actor import Actor
from tests.bench.seeding import pieces

LIMITED = "reviewer2"
"""Sees the runs of one agent only."""
PASSWORD = "seeded for a measurement"
"""With which the demo's accounts sign in."""
AGENTS = 24
BROAD = 6
"""So many of the agents, the busiest, have runs of every kind; the others only the two most frequent ones."""
_TRADES = ("Receivables", "Renewals", "Returns", "Onboarding", "Suppliers", "Travel", "Claims", "Support")
_PLACES = ("north", "south", "west")
_TITLES = tuple(f"{trade} {place}" for place in _PLACES for trade in _TRADES)


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """One lineage as the product made it, and how often it is cast.

    `share`: of all casts that aren't counted; or `times`, where they are.
    """

    kind: str
    root: int
    share: float = 0.0
    times: int = 0
    open: bool = False


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a piece of work is like, and how frequent it is."""

    make: Callable[[str], models.Run]
    share: float = 0.0
    times: int = 0
    open: bool = False
    everywhere: bool = False


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How many agents there are, how long the longest run is, which part of the open questions, and without what."""

    agents: int = AGENTS
    broad: int = BROAD
    huge: int = pieces.HUGE
    open: float = 1.0
    without: frozenset[str] = frozenset()


QUICK = Sizes(agents=4, broad=1, huge=160, without=frozenset({"long"}))


def everything(sizes: Sizes) -> Iterator[Pattern]:
    """Give all patterns; each is made when it is asked for, by agents and people that are made first."""
    demo.everything(PASSWORD)
    _on_pages_only()
    names = _TITLES[: sizes.agents]
    weights = [1 / (number + 1) ** 1.2 for number in range(sizes.agents)]
    for kind, one in KINDS.items():
        if kind in sizes.without:
            continue
        having = names if one.everywhere else names[: 1 if one.times else sizes.broad]
        whole = sum(weights[: len(having)])
        for number, name in enumerate(having):
            run = pieces.huge(name, sizes.huge) if kind == "huge" else one.make(name)
            worker.drain(until_idle=False)
            share = one.share * weights[number] / whole
            times = math.ceil(one.times * sizes.open)
            yield Pattern(kind=kind, root=run.root_id, share=share, times=times, open=one.open)


def _on_pages_only() -> None:
    """Let people be told on the pages, and no letters wait that nobody sends."""
    ways = {row: {telling.EMAIL: telling.OFF} for row in telling.ROWS}
    for person in models.User.objects.all():
        notice_settings.save(telling.Wish(ways=ways), owner=person)


def limit() -> None:
    """Let one reviewer see the rarest agent only."""
    rarest = models.Agent.objects.filter(title__in=_TITLES).order_by("-pk")[0]
    person = models.User.objects.get(username=LIMITED)
    team.set_scope(
        f"user {person.pk}", [rarest.name], by=Actor(user=models.User.objects.get(username="admin"))
    )


KINDS: dict[str, Kind] = {
    "plain": Kind(make=pieces.plain, share=0.42, everywhere=True),
    "asked": Kind(make=pieces.asked, share=0.30, everywhere=True),
    "rejected": Kind(make=pieces.rejected, share=0.07),
    "fined": Kind(make=pieces.fined, share=0.06),
    "stopped": Kind(make=pieces.stopped, share=0.05),
    "given up": Kind(make=pieces.given_up, share=0.03),
    "redriven": Kind(make=pieces.redriven, share=0.02),
    "medium": Kind(make=pieces.medium, share=0.04),
    "receivables": Kind(make=pieces.receivables, share=0.008),
    "long": Kind(make=pieces.long, share=0.002),
    "huge": Kind(make=pieces.huge, times=1),
    "waiting, letters": Kind(make=pieces.waiting_mails, times=100, open=True),
    "waiting, fees": Kind(make=pieces.waiting_fees, times=60, open=True),
    "waiting, question": Kind(make=pieces.waiting_question, times=150, open=True),
    "failed": Kind(make=pieces.failing, times=200, open=True),
    "in doubt": Kind(make=pieces.in_doubt, times=50, open=True),
}
