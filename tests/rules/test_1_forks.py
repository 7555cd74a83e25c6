"""Three verbs: a re-drive takes the place, a fork tries it out beside, separate work begins anew."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from runs import models
from runs.engine import verifier
from runs.transitions import branches
from runs.transitions.actor import Actor
from runs.transitions.refusals import Invalid, Stale
from tests.engine.conftest import go, step
from tests.engine.world import World
from tests.rules.branching import checkpoint, redrive, texts, through

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
_tokens = itertools.count()


def fork(run: models.Run, number: int, by: models.User, **more: object) -> models.Run:
    """Return a dry run from that checkpoint."""
    token = f"fork-{next(_tokens)}"
    return branches.fork(
        run.pk,
        checkpoint=number,
        reason="to see",
        by=Actor(user=by),
        token=token,
        **more,  # type: ignore[arg-type]
    )


def separate(run: models.Run, number: int, by: models.User, acknowledged: str) -> models.Run:
    """Return separate work from that checkpoint."""
    return branches.separate(
        run.pk,
        checkpoint=number,
        reason="another customer",
        acknowledged=acknowledged,
        by=Actor(user=by),
        token=f"separate-{next(_tokens)}",
    )


def test_1_5_a_fork_absorbs_what_stands_and_simulates_the_rest(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """A fork beside its source does nothing outside, asks nobody, and leaves no occurrence."""
    run = start(step("lookup", "pay"), step("allowed", "draft"), step("lookup", "post", id="post"))
    run = go(run)
    number = checkpoint(run, "planned")
    run = through(run, reviewer)
    before = (World.effects(), models.Occurrence.objects.count())
    same, other = fork(run, number, operator), fork(run, number, operator, input={"x": 1})
    assert (go(same).status, go(other).status) == ("succeeded", "succeeded")
    assert [row.status for row in models.Action.objects.filter(run=same).order_by("pk")] == ["absorbed"] * 3
    assert (World.effects(), models.Occurrence.objects.count()) == before
    run.refresh_from_db()
    assert run.superseded_by is None
    verifier.verify()


def test_1_5_a_fork_beside_a_waiting_run_leaves_it_alone(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """What would be done is said in the dry run's own words; taking it over goes on from where the fork began."""
    run = go(start(step("lookup", "${input.to}"), input={"to": "wrong"}))
    dry = go(fork(run, checkpoint(run, "planned"), operator, input={"to": "right"}))
    assert (dry.status, World.effects()) == ("succeeded", [])
    assert (
        texts(dry)[0] == "Simulated, nothing was done. Will do right. A person would have been asked first."
    )
    run.refresh_from_db()
    assert (run.status, run.stop_at) == ("waiting", None)
    new = branches.take_over(dry.pk, reason="it is better so", by=Actor(user=operator), token="over")
    assert (new.path, new.input, new.mode) == (dry.path, {"to": "right"}, "live")
    go(run)
    assert through(new, reviewer).status == "succeeded"
    assert [line["name"] for line in World.effects()] == ["right"]
    verifier.verify()


def test_7_4_nothing_live_descends_from_a_simulated_result(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """A live run may go on from a dry run only before its first simulated result."""
    run = go(start(step("look", "it"), step("lookup", "pay")))
    dry = go(fork(run, 1, operator))
    with pytest.raises(Invalid, match="only simulated"):
        redrive(dry, dry.checkpoint_number, operator)
    again = go(fork(dry, dry.checkpoint_number, operator))
    assert again.mode == "dry_run"
    new = redrive(dry, checkpoint(dry, "planned"), operator)
    go(run)
    assert through(new, reviewer).status == "succeeded", new.error
    assert len(World.effects()) == 1
    verifier.verify()


def test_1_5_separate_work_does_it_again_after_the_list_was_seen(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """A new lineage absorbs nothing; whoever begins it has confirmed the list of what was done before, as it is."""
    run = through(start(step("lookup", "pay")), reviewer)
    number = checkpoint(run, "planned")
    with pytest.raises(Stale, match="1 earlier effect would not be known"):
        separate(run, number, operator, "")
    earlier = branches.earlier_effects(run.pk)
    assert [row.tool for row in earlier.occurrences] == ["world.lookup"]
    new = separate(run, number, operator, earlier.digest)
    assert (new.root_id, new.mode) == (new.pk, "live")
    assert through(new, reviewer).status == "succeeded", new.error
    assert len({line["key"] for line in World.effects("pay")}) == 2
    with pytest.raises(Stale):
        separate(new, number, operator, earlier.digest)
    verifier.verify()
