"""Looking closely at runs: the pages in every look."""

from __future__ import annotations

import pytest

from runs import models
from runs.transitions import branches
from runs.transitions.actor import Actor
from tests import factories
from tests.browser.test_looks import SIZES, Sit, flawless, looks
from tests.engine.conftest import go, step
from tests.rules.branching import checkpoint, through

pytestmark = pytest.mark.django_db(transaction=True)


def scene(who: factories.People) -> tuple[models.Run, models.Run, models.Run]:
    """Return a run that did two things, a dry run beside it, and one that failed."""
    steps = [step("look", "it"), step("allowed", "draft"), step("lookup", "mail")]
    run = through(factories.start(who.operator, *steps), who.reviewer)
    by = Actor(user=who.operator)
    dry = branches.fork(run.pk, checkpoint=checkpoint(run, "planned"), reason="x", by=by, token="looks")
    return run, go(dry), factories.failed(who.operator)


@pytest.mark.parametrize("size", SIZES)
def test_its_pages(size: str, who: factories.People, sit: Sit) -> None:
    """No barrier and no sideways scroll."""
    run, dry, failed = scene(who)
    waiting, last = checkpoint(run, "waiting"), run.checkpoint_number
    paths = [
        f"/runs/{run.pk}/checkpoints/",
        f"/runs/{run.pk}/transcript/?q=mail",
        f"/runs/{run.pk}/transcript/?q=nowhere",
        f"/runs/{run.pk}/checkpoints/{last}/",
        f"/runs/{run.pk}/checkpoints/{waiting}/",
        f"/runs/{run.pk}/diff/?a={waiting}&b={last}",
        f"/runs/{run.pk}/diff/?a={waiting}&b={last}&view=split",
        f"/runs/{run.pk}/diff/?a=1&b=1",
        f"/runs/{failed.pk}/?only=failures",
        f"/runs/{run.pk}/?only=failures",
        f"/runs/{dry.pk}/",
        f"/compare/?a={run.pk}&b={dry.pk}",
        "/compare/",
        "/effects/",
        "/effects/?state=undone",
    ]
    desk = sit(who.admin, **SIZES[size])
    assert [looks(desk, path) for path in paths] == [flawless(path) for path in paths]
