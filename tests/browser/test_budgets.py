"""What pages may weigh and hold. What depends on the machine's speed is a figure of `python -m tests.bench.pages`.

Times (first byte, largest paint, answer to a key) fail by chance where others share the processor, so they aren't here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runs import models
from tests import factories
from tests.browser.desk import Desk
from tests.browser.measures import Measured, measured
from tests.engine.conftest import go
from tests.pages.test_long_run import long_run
from tests.rules.branching import redrive

pytestmark = pytest.mark.django_db(transaction=True)
Sit = Callable[..., Desk]

FIRST_VIEW, LATER_VIEW = 200_000, 60_000
STYLES, OWN_SCRIPTS, OTHERS_SCRIPTS, OTHERS_ON_PLANS = 20_000, 12_000, 24_000, 40_000
NODES, MOVED = 1_500, 0.05
WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}}
NARROW: dict[str, Any] = {"viewport": {"width": 360, "height": 740}}


def over(found: Measured, *, later: bool) -> list[str]:
    """Return what of a page is over its budget."""
    figures = {
        "all": (found.first, FIRST_VIEW),
        "what a later visit fetches": (found.sent if later else 0, LATER_VIEW),
        "styles": (found.styles, STYLES),
        "own scripts": (found.own, OWN_SCRIPTS),
        "others' scripts": (found.others, OTHERS_ON_PLANS if "/plan/edit/" in found.path else OTHERS_SCRIPTS),
        "nodes": (found.nodes, NODES),
        f"moved {found.moves}": (found.moved, MOVED),
    }
    return [
        f"{found.path}: {what}: {value} of {most}" for what, (value, most) in figures.items() if value > most
    ]


def test_each_page_keeps_its_budget(who: factories.People, sit: Sit) -> None:
    """The demo at work and a run of ten thousand lines, in one browser: wide, then what moves in a narrow window."""
    runs = [go(factories.demo_run(who.operator, name)) for name in ("north.csv", "south.csv", "west.csv")]
    long, failed = long_run(who.operator), factories.failed(who.operator)
    again = go(redrive(failed, failed.checkpoint_number, who.operator))
    review = models.Review.objects.filter(run=runs[0], status="open").earliest("pk")
    letters = models.Review.objects.filter(status="open", kind="action").values_list("pk", flat=True)[:5]
    run, log = f"/runs/{runs[0].pk}/", f"/runs/{long.pk}/"
    paths = [
        "/inbox/", "/inbox/?tab=team", f"/reviews/{review.pk}/", f"/reviews/{review.pk}/edit/",
        "/reviews/batch/?review=" + "&review=".join(map(str, letters)), "/runs/", "/effects/", run, f"{run}plan/",
        f"{run}plan/edit/", f"{run}effects/", f"{run}usage/", f"{run}checkpoints/2/", f"{run}diff/?a=1&b=4", log,
        f"{log}transcript/", f"{log}checkpoints/", f"{log}?only=failures", f"/runs/{failed.pk}/redrive/",
        f"/compare/?a={failed.pk}&b={again.pk}", "/agents/new/",
    ]  # fmt: skip
    desk = sit(who.admin, **WIDE)
    found = []
    for later, path in enumerate(["/login/", *paths]):
        page = desk.go(path)
        if path.endswith("plan/edit/"):
            page.wait_for_selector("[data-sorted=yes]")  # the library is there, if it can be dragged at all
        seen = measured(page)
        found += over(seen, later=later > 0)
    narrow = sit(who.admin, **NARROW)
    for path in ("/inbox/", paths[2], paths[3], run, log):
        seen = measured(narrow.go(path))
        found += [f"narrow {path}: {seen.moved:.3f} {seen.moves}"] if seen.moved > MOVED else []
    assert found == []
