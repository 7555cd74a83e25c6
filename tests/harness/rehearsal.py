"""One quiet run in the process that forks all others: what is made at its first use is made before they begin."""

from __future__ import annotations

import gc
from typing import Any
from unittest import mock

from django.conf import settings
from django.db import connections

from runs.engine import heartbeat
from tests.harness import acts, bots
from tests.harness import plan as plans
from tests.harness.site import Site

PLAN = plans.Plan(seed=0, tag="rehearsal", effects=(plans.Effect(protection="lookup"),))
TURNS = 8


def rehearse(site: Site) -> None:
    """Play it in a database of its own, and leave nothing of it but what was read and compiled."""
    given: dict[str, Any] = connections["default"].settings_dict
    before = (given["NAME"], given["OPTIONS"]["options"], settings.CKPTSITE_DATA)
    site.enter(f"{given['NAME']}_rehearsal")
    try:
        with mock.patch.object(heartbeat, "end_process"):  # however long it takes
            _play(site)
    finally:
        site.leave()
        given["NAME"], given["OPTIONS"]["options"], settings.CKPTSITE_DATA = before
        settings.DATABASES["default"]["NAME"] = given["NAME"]
    gc.collect()
    gc.freeze()


def _play(site: Site) -> None:
    world = site.world()
    do = acts.commands(world)
    rows = {protection: [f"rehearsal-{protection}"] for protection in plans.PROTECTIONS}
    names = [name for row in rows.values() for name in row]
    world.plan({name: [] for name in names})
    run = do["start"](given={"name": "rehearsal", **rows}, token="rehearsal")
    for turn in range(TURNS):
        do["work"](run=run)
        do["people"](run=run, plan=PLAN.as_json(), turn=turn, who=bots.REVIEWERS[0])
    do["judge"](
        run=run, names=names, below=[], notes={"stalled": [], "acks": [], "allowed": False, "too_early": 0}
    )
