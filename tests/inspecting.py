"""The pages that look closely at runs, each where it has something to show, for whoever walks over all pages."""

from __future__ import annotations

from runs import models
from runs.transitions import branches
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import go, step
from tests.rules.branching import checkpoint, through


def paths(who: factories.People) -> list[str]:
    """Return their addresses: of a run that did something, a dry run beside it, one that failed, one with files."""
    steps = [step("look", "it"), step("allowed", "draft"), step("lookup", "mail")]
    run = through(factories.start(who.operator, *steps), who.reviewer)
    number, by = checkpoint(run, "planned"), Actor(user=who.operator)
    dry = go(branches.fork(run.pk, checkpoint=number, reason="x", by=by, token="looks"))
    failed, demo = factories.failed(who.operator), go(factories.demo_run(who.operator))
    waiting, last = checkpoint(run, "waiting"), run.checkpoint_number
    return [
        f"/runs/{run.pk}/checkpoints/",
        f"/runs/{run.pk}/checkpoints/{last}/",
        f"/runs/{run.pk}/checkpoints/{waiting}/",
        f"/runs/{run.pk}/diff/?a={waiting}&b={last}",
        f"/runs/{run.pk}/diff/?a={waiting}&b={last}&view=split",
        f"/runs/{run.pk}/diff/?a=1&b=1",
        f"/runs/{failed.pk}/?only=failures",
        f"/runs/{run.pk}/?only=failures",
        f"/runs/{dry.pk}/",
        f"/runs/{dry.pk}/effects/",
        f"/compare/?a={run.pk}&b={dry.pk}",
        "/compare/",
        "/effects/",
        "/effects/?state=undone",
        f"/runs/{demo.pk}/",
        f"/runs/{demo.pk}/transcript/",  # with a file and the head of its table
        f"/runs/{demo.pk}/checkpoints/{models.Checkpoint.objects.filter(run=demo).count()}/",
        f"/runs/{run.pk}/transcript/?q=mail",
        f"/runs/{run.pk}/transcript/?q=nowhere",
    ]
