"""Rule 7.3: lineages that ended long ago are sealed from the shell, each in a commit of its own."""

from __future__ import annotations

import datetime
import io
from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command

from runs import models, points
from runs.engine import verifier
from runs.transitions import cuts, retention
from runs.transitions.actor import Actor
from runs.transitions.refusals import Stale
from tests.engine.conftest import go, step
from tests.rules.branching import redrive, through
from tests.rules.handing import agent, back, child_of, hands

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
LONG_AGO = datetime.timedelta(days=400)


@pytest.fixture
def admin(person: Callable[..., models.User]) -> models.User:
    """Whoever may seal."""
    return person("ada", "admin")


def sealed() -> set[int]:
    """Return the first runs of what is sealed."""
    return set(models.Run.objects.filter(sealed_at__isnull=False).values_list("pk", flat=True))


def aged(*runs: models.Run) -> None:
    """Let the runs have ended long ago."""
    for run in runs:
        run.refresh_from_db()
        assert run.ended_at is not None
        models.Run.objects.filter(pk=run.pk).update(ended_at=run.ended_at - LONG_AGO)


def seal(*more: str, by: str = "ada", days: int = 365) -> str:
    """Return what the command says."""
    said = io.StringIO()
    words = ["--ended", str(days), "--by", by, "--reason", "A year is over.", *more]
    call_command("seal", *words, stdout=said)
    return said.getvalue()


def test_7_3_what_ended_long_ago_is_sealed_and_nothing_else(
    start: Start, admin: models.User, operator: models.User, reviewer: models.User
) -> None:
    """Not what is open, ended lately or in any attempt; a crash half-way leaves whole lineages, and it goes on."""
    paid, second = through(start(step("lookup", "pay")), reviewer), go(start(step("look", "b")))
    asked, young, again = (
        go(start(step("lookup", "c"))),
        go(start(step("look", "d"))),
        go(start(step("look", "e"))),
    )
    new = go(redrive(again, 1, operator))
    assert (asked.status, new.status) == ("waiting", "succeeded")
    aged(paid, second, again)

    tried = seal("--dry-run")
    assert f"run {paid.pk}: would be sealed\n" in tried
    assert tried.endswith("2 lineages would be sealed (nothing was changed), 0 left out.\n")
    assert sealed() == set()
    with pytest.raises(CommandError, match="Only an administrator"):
        seal(by=operator.username)
    with pytest.raises(CommandError, match="nobody named"):
        seal(by="nobody")
    with pytest.raises(CommandError, match="at least 1 day"):
        seal(days=0)

    def die(name: str) -> None:
        if name == "seal.after_commit":
            raise KeyboardInterrupt

    points.arm(die)
    try:
        with pytest.raises(KeyboardInterrupt):
            seal()
    finally:
        points.arm(None)
    assert sealed() == {paid.pk}
    assert seal().endswith(f"run {second.pk}: sealed\n1 lineage sealed, 0 left out.\n")
    assert sealed() == {paid.pk, second.pk}
    kept = models.Occurrence.objects.get(root=paid)
    assert (kept.state, kept.owner.run_id) == ("standing", paid.pk)
    assert not {asked.pk, young.pk, again.pk} & sealed()
    assert verifier.verify().sealed == 2


def test_7_3_work_that_was_handed_over_is_sealed_after_who_handed_it(
    begin: Start, admin: models.User
) -> None:
    """Another attempt of the parent would take the child's result over, or begin the child's next attempt."""
    run = go(begin(hands(agent(step("look"), result="paid"))))
    child = child_of(run)
    go(child)
    assert back(run).status == "succeeded"
    by = Actor(user=admin)
    with pytest.raises(Stale, match=f"of run {run.pk}, which handed it the work"):
        retention.seal(child.pk, reason="Over.", by=by)
    aged(child)
    assert seal().endswith("seal that lineage first.\n0 lineages sealed, 1 left out.\n")
    aged(run)
    assert seal("--dry-run").endswith("2 lineages would be sealed (nothing was changed), 0 left out.\n")
    seal()
    assert sealed() == {run.pk, child.pk}
    assert verifier.verify().sealed == 2


def test_7_3_sealing_and_another_attempt_exclude_each_other(
    start: Start, admin: models.User, operator: models.User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes second is refused, also between the look at the checkpoint and the commit."""
    run = go(start(step("look", "a")))
    found = cuts.find

    def sealed_meanwhile(row: models.Run, checkpoint: int) -> cuts.Cut:
        cut = found(row, checkpoint)
        retention.seal(run.pk, reason="Over.", by=Actor(user=admin))
        return cut

    monkeypatch.setattr(cuts, "find", sealed_meanwhile)
    with pytest.raises(Stale, match="sealed"):
        redrive(run, 1, operator)
    assert models.Run.objects.filter(root=run).count() == 1
    verifier.verify()
