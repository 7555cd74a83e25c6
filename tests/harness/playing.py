"""Playing many plans: some processes that direct trials, each with a database and a few hands of its own."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection

from tests.harness import plan as plans
from tests.harness import site as sites
from tests.harness.outcome import Outcome

HANDS = 3
"""So many processes work for one stage; the rest of its trials wait for time to pass."""
JOBS = 24
STAGES = os.cpu_count() or 1
_numbers = itertools.count()


@dataclass(frozen=True, kw_only=True)
class Share:
    """What one stage plays."""

    site: sites.Site
    database: str
    plans: tuple[plans.Plan, ...]
    width: int
    control: str = ""
    loud: bool = False


@dataclass(kw_only=True)
class Played:
    """How the trials ended, and what the verifier says of the databases that they leave."""

    outcomes: list[Outcome] = field(default_factory=list)
    verified: list[str] = field(default_factory=list)

    def violations(self) -> list[str]:
        """Return what must never be, with the seed or name of its trial."""
        found = [f"{one.plan.name()}: {line}" for one in self.outcomes for line in one.violations]
        return found + self.verified


def play(
    given: Sequence[plans.Plan],
    *,
    site: sites.Site,
    jobs: int = JOBS,
    stages: int = STAGES,
    loud: bool = False,
) -> Played:
    """Return what came of the plans, played by so many stages and so many at the same time."""
    stages = max(1, min(stages, len(given)))
    shares = [
        Share(
            site=site,
            database=f"stage_{os.getpid()}_{next(_numbers)}",
            plans=tuple(given[number::stages]),
            width=max(1, jobs // stages),
            loud=loud,
        )
        for number in range(stages)
    ]
    played = Played()
    for part in pooled(shares, stages=stages):
        played.outcomes += part.outcomes
        played.verified += part.verified
    return played


def pooled(shares: Sequence[Share], *, stages: int = STAGES) -> list[Played]:
    """Return what came of each share, so many at the same time."""
    with ProcessPoolExecutor(stages, mp_context=get_context("fork")) as pool:
        return list(pool.map(_apart, shares))


def _apart(share: Share) -> Played:
    """Play a share in a process of its own: what it breaks or connects to ends with that."""
    ours, theirs = get_context("fork").Pipe(duplex=False)
    process = get_context("fork").Process(target=_send, args=(theirs, share))
    process.start()
    theirs.close()
    played: Played = ours.recv()
    process.join()
    return played


def _send(channel: Connection, share: Share) -> None:
    channel.send(_stage(share))


def _stage(share: Share) -> Played:
    """Play one share in this process, and have its database verified at the end."""
    from django.conf import settings

    from tests.harness import acts, controls, oracle, theatre, tools, trial

    share.site.enter(share.database)
    world = share.site.world()
    longest = max(settings.CKPTSITE["LEASE"], tools.TIMEOUT + settings.CKPTSITE["MARGIN"])
    stage = theatre.Stage(acts.commands(world), size=HANDS)
    played = Played()
    plays = (trial.Trial(one, world, longest=longest).play() for one in share.plans)
    with controls.broken(share.control):
        for outcome in stage.run(plays, width=share.width):
            played.outcomes.append(outcome)
            if share.loud:
                sys.stderr.write(f"{outcome.line()}\n")
    played.verified = oracle.chains()
    share.site.leave()
    return played
