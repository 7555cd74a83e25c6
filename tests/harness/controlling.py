"""Playing the negative controls and the exhaustive table, and saying what came of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.harness import playing
from tests.harness import site as sites

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
    database = f"{'broken' if control else 'sound'}_{name}".replace("-", "_")
    return playing.Share(
        site=site, database=database, plans=plans, width=len(plans), control=control, loud=loud
    )


def table(wanted: str, *, site: sites.Site, jobs: int, loud: bool = False) -> dict[str, Any]:
    """Return for each row what befell its processes, what had to, and what was violated."""
    from tests.harness import table as tables

    rows = {row.plan.seed: row for row in tables.rows() if wanted in row.name}
    together = [row.plan for row in rows.values() if not row.alone]
    alone = tuple(row.plan for row in rows.values() if row.alone)
    parts = [playing.play(together, site=site, jobs=jobs, loud=loud)] if together else []
    if alone:
        share = playing.Share(site=site, database="alone", plans=alone, width=1, loud=loud)
        parts += playing.pooled([share])
    found: dict[str, Any] = {}
    for outcome in (outcome for part in parts for outcome in part.outcomes):
        row = rows[outcome.plan.seed]
        befell = [(how, point) for how, point in outcome.fired if (how, point) in row.wanted]
        found[row.name] = {
            "wanted": len(row.wanted),
            "befell": len(befell),
            "violations": outcome.violations,
        }
    verified = [line for part in parts for line in part.verified]
    bad = [name for name, told in found.items() if told["violations"] or told["befell"] < told["wanted"]]
    return {
        "rows": found,
        "verified": verified,
        "bad": bad,
        "unreachable": tables.excluded(),
        "exit": 1 if bad or verified or not found else 0,
    }
