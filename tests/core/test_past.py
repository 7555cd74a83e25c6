"""The state at a checkpoint as pages read it is the one that a fold of every line gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models, state
from runs.models import cuts, paths
from runs.selectors import documents, past
from runs.transitions import branches
from runs.transitions.actor import Actor
from tests.engine.conftest import go, step
from tests.rules.branching import checkpoint, redrive, through

pytestmark = pytest.mark.django_db(transaction=True)


def agree(run: models.Run) -> int:
    """Compare each checkpoint of the run's path; return how many there were."""
    rows = list(paths.checkpoints(run).order_by("number"))
    for row in rows:
        cut = cuts.find(run, row.number or 0)
        assert cut is not None
        found = past.at(cut)
        folded = state.fold(paths.told(cut.path))
        assert found.counters == folded.counters
        assert found.input == folded.input
        assert (found.plan_version, found.plan) == (folded.plan_version, folded.plan), row
        opened = [(call.id, call.status, call.revision) for call in found.tail.open()]
        assert opened == [(call.id, call.status, call.revision) for call in folded.open_calls()], row
        in_lineage = list(models.Occurrence.objects.filter(root=run.root_id))
        off = paths.off(cut.path, None, in_lineage)
        assert {one.pk for one in documents.effects(cut)} == {one.pk for one in in_lineage} - {
            one.pk for one in off
        }
        whole = past.calls(cut, after=0)
        assert whole.calls == folded.calls
    return len(rows)


def test_each_checkpoint_of_each_kind_of_run(
    start: Callable[..., models.Run], operator: models.User, reviewer: models.User
) -> None:
    """With reads, effects, refusals, a re-drive of a re-drive, a dry run, and a call that was open at the cut."""
    steps = [step("look", "it"), step("allowed", "draft"), step("lookup", "${input.to}", id="pay")]
    run = through(start(*steps, input={"to": "wrong"}), reviewer)
    second = redrive(run, checkpoint(run, "before_irreversible", nth=1), operator, input={"to": "right"})
    go(second)
    number, by = checkpoint(run, "planned"), Actor(user=operator)
    dry = go(branches.fork(run.pk, checkpoint=number, reason="x", by=by, token="f"))
    refused = through(start(step("lookup", "no"), step("look", "more")), reviewer, "reject")
    assert agree(second)
    third = redrive(second, checkpoint(second, "edited"), operator)
    go(second)
    assert sum(agree(one) for one in (run, go(third), dry, refused)) > 25
