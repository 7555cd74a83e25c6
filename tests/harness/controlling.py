"""Playing the negative controls and the exhaustive table, and saying what came of each."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.harness import playing
from tests.harness import site as sites

if TYPE_CHECKING:
    from tests.harness import table as tables
    from tests.harness.outcome import Outcome

LONERS = 4
"""So many databases for rows that are played one at a time: most of such a trial is waiting."""
_numbers = itertools.count()
_KIND = re.compile(r"(?:run \d+: )?([a-z ]+):")


def kinds(violations: Sequence[str]) -> Counter[str]:
    """Return how many violations there are of each kind."""
    found: Counter[str] = Counter()
    for line in violations:
        match = _KIND.match(line.partition(": ")[2]) if not line.startswith("verifier") else None
        found[match.group(1) if match else "verifier"] += 1
    return found


def controls(names: Sequence[str], *, site: sites.Site, loud: bool = False) -> dict[str, Any]:
    """Return for each control what was violated, and whether it was caught; and the same for the code as it is."""
    from tests.harness import controls as broken

    chosen = {name: broken.CONTROLS[name] for name in names or broken.CONTROLS}
    plans = {
        name: tuple(replace(plan, tag=name, seed=seed) for seed, plan in enumerate(control.plans, start=1))
        for name, control in chosen.items()
    }
    sound = {
        name: tuple(replace(plan, tag=f"sound-{name}") for plan in given) for name, given in plans.items()
    }
    shares = [_share(site, name, plans[name], control=name, loud=loud) for name in chosen]
    shares += [_share(site, name, sound[name], control="", loud=loud) for name in chosen]
    played = playing.pooled(shares, stages=playing.STAGES + 1)
    broken_ones, sound_ones = played[: len(chosen)], played[len(chosen) :]
    found = {
        name: {
            "violations": kinds(part.violations()),
            "caught": any(kinds(part.violations())[kind] for kind in control.caught_as),
            "as it is": sum(kinds(as_it_is.violations())[kind] for kind in control.caught_as),
            "first": part.violations()[:3],
        }
        for (name, control), part, as_it_is in zip(chosen.items(), broken_ones, sound_ones, strict=True)
    }
    missed = [name for name, told in found.items() if not told["caught"] or told["as it is"]]
    return {"controls": found, "missed": missed, "exit": 1 if missed else 0}


def _share(site: sites.Site, name: str, plans: tuple[Any, ...], *, control: str, loud: bool) -> playing.Share:
    database = f"{'broken' if control else 'sound'}_{os.getpid()}_{name}".replace("-", "_")
    return playing.Share(
        site=site, database=database, plans=plans, width=len(plans), control=control, loud=loud
    )


def table(
    wanted: str, *, site: sites.Site, jobs: int, packed: bool = False, loud: bool = False
) -> dict[str, Any]:
    """Return for each row what befell its processes, what had to, and what was violated.

    In packs, a row that didn't come to its point in company is played alone afterwards.
    """
    from tests.harness import table as tables

    given = [row for row in (tables.packs() if packed else tables.rows()) if re.search(wanted, row.name)]
    outcomes, verified = _played(given, site=site, jobs=jobs, loud=loud)
    found: dict[str, Any] = {}
    left = []
    for row in given:
        outcome = outcomes[row.plan.seed]
        for part in row.parts or (row,):
            befell = part.befell(outcome.fired)
            found[part.name] = {
                "wanted": len(part.wanted),
                "befell": befell,
                "violations": outcome.violations,
            }
            left += [part] if row.parts and befell < len(part.wanted) else []
    if left:
        outcomes, more = _played(left, site=site, jobs=jobs, loud=loud)
        verified += more
        for row in left:
            told, outcome = found[row.name], outcomes[row.plan.seed]
            told["befell"] = row.befell(outcome.fired)
            told["violations"] = told["violations"] + outcome.violations
    bad = [name for name, told in found.items() if told["violations"] or told["befell"] < told["wanted"]]
    return {
        "rows": found,
        "trials": len(given) + len(left),
        "verified": verified,
        "bad": bad,
        "unreachable": tables.excluded(),
        "exit": 1 if bad or verified or not found else 0,
    }


def _played(
    rows: Sequence[tables.Row], *, site: sites.Site, jobs: int, loud: bool
) -> tuple[dict[int, Outcome], list[str]]:
    """Return the outcome of each plan by its seed, and what the verifier says of all databases.

    Rows that need a database to themselves are played one at a time, in a few databases beside the others.
    """
    number, stages = next(_numbers), playing.STAGES
    together = [row.plan for row in rows if not row.alone]
    alone = [row.plan for row in rows if row.alone]
    parts = [("together", together[n::stages], jobs // stages) for n in range(stages)]
    parts += [("alone", alone[n::LONERS], 1) for n in range(LONERS)]
    shares = [
        playing.Share(
            site=site,
            database=f"{name}_{os.getpid()}_{number}_{n}",
            plans=tuple(plans),
            width=width,
            loud=loud,
        )
        for n, (name, plans, width) in enumerate(parts)
        if plans
    ]
    played = playing.pooled(shares, stages=len(shares))
    outcomes = {outcome.plan.seed: outcome for part in played for outcome in part.outcomes}
    return outcomes, [line for part in played for line in part.verified]
