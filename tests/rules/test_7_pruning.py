"""Rule 7.3: what a lineage holds is erased by policy on three clocks, told first, and the record stays verifiable."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable

import pytest
from django.db import DatabaseError

from runs import models, points
from runs.engine import verifier
from runs.transitions import branches, evidence, pruning, starts, switches
from runs.transitions.actor import Actor
from runs.transitions.refusals import Stale
from tests.core import tampering
from tests.engine.conftest import go, only_review, step
from tests.engine.world import World
from tests.rules.branching import redrive
from tests.rules.erasing import Start, aged, found, keep, lines, parts, past, prune

pytestmark = pytest.mark.django_db(transaction=True)
Part = models.Tombstone.Part
__all__ = ["keep", "past"]


def test_7_3_each_part_goes_on_its_own_clock_and_what_is_needed_stays(
    past: dict[str, models.Run], keep: Callable[..., None], start: Start, person: Callable[..., models.User]
) -> None:
    """Digests outlive contents, receipts outlive the log; what was done is known for as long as they stay."""
    doubted = go(start(step("allowed", "g")))
    content = {"summary": "It was never sent."}
    action = models.Action.objects.get(run=doubted)
    evidence.append(action.pk, attempt=1, outcome="did_not_happen", source="worker", content=content)
    assert prune()["erased"] == []
    keep(payloads=30, timeline=90, receipts=400)
    aged(40, past["paid"])
    aged(100, past["old"])  # its other attempt ended lately
    aged(100, past["refused"], past["other"])  # separate work goes on from the latter
    aged(1000, doubted)  # somebody is asked whether it happened
    aged(1000, past["parent"])  # who did the work for it ended lately
    effects, kept = World.effects(), models.Occurrence.objects.count()
    logs = {name: lines(run) for name, run in past.items()}

    tried = prune("--dry-run")
    assert [(row["part"], row["lineages"]) for row in tried["erased"]] == [
        ("payloads", 1), ("payloads", 1), ("timeline", 1)
    ]  # fmt: skip
    assert sum(row["bytes"] for row in tried["erased"]) > 5_000
    assert not models.Tombstone.objects.exists()
    assert not models.Run.objects.filter(sealed_at__isnull=False).exists()
    done = prune()
    assert (done["erased"], done["sealed"]) == (tried["erased"], tried["sealed"] == 3 and 3)
    why = {row["run"]: row["why"] for row in done["left"]}
    assert why.keys() == {past["other"].pk, past["parent"].pk, doubted.pk}
    assert "still open" in why[doubted.pk]
    assert f"Run {past['separate'].pk}, separate work" in why[past["other"].pk]
    assert f"Run {past['child'].pk}, to which" in why[past["parent"].pk]
    assert found() == ""
    assert (parts(past["paid"]), lines(past["paid"])) == ({"payloads"}, logs["paid"])
    assert (parts(past["refused"]), lines(past["refused"])) == ({"payloads", "timeline"}, 0)
    for name in ("other", "old", "new", "parent", "child"):
        assert (parts(past[name]), lines(past[name])) == (set(), logs[name])
    for model in (models.Fact, models.Plan, models.PlanStep):
        assert not model.objects.filter(run__in=[past["paid"], past["refused"]]).exists()
    said = " ".join(str(row) for row in models.Entry.objects.filter(run=past["paid"]).values_list("content"))
    assert "pay" not in said
    assert models.Occurrence.objects.count() == kept
    assert models.Decision.objects.filter(review__run=past["paid"]).count() == 2
    assert prune()["erased"] == []

    _nothing_goes_on_from_it(past["paid"])
    _nothing_else_can_be_taken_away(past)
    _what_it_did_is_still_known(past["paid"], start, Actor(user=person("ada", "admin")))
    assert len(World.effects()) == len(effects)

    keep(payloads=10, timeline=20, receipts=30)
    aged(35, *(run for run in past.values() if not parts(run)))
    prune()
    assert found() == ""
    assert [row for row in past.values() if parts(row) != set(Part.values)] == []
    assert not models.Occurrence.objects.filter(root__in=past.values()).exists()
    assert not models.Evidence.objects.filter(action__run__in=past.values()).exists()
    assert models.Decision.objects.filter(review__run=past["paid"]).count() == 2
    assert go(start(step("lookup", "pay"))).status == "succeeded"  # by now nobody knows of it
    assert len(verifier.verify().erased) == len(past)


def _nothing_goes_on_from_it(run: models.Run) -> None:
    by = Actor(user=run.created_by)
    with pytest.raises(Stale, match="sealed"):
        redrive(run, 1, run.created_by)
    with pytest.raises(Stale, match="sealed"):
        branches.fork(run.pk, checkpoint=1, by=by, token="no-fork")
    action = models.Action.objects.filter(run=run, occurrence__isnull=False).first()
    assert action is not None
    evidence.append(
        action.pk, attempt=1, outcome="did_not_happen", source="worker", content={"summary": "Late."}
    )
    assert models.AuditEvent.objects.get(act="evidence.too_late").content["content"] == {"summary": "Late."}
    assert found() == ""


def _nothing_else_can_be_taken_away(past: dict[str, models.Run]) -> None:
    """Not of other runs, not another part, not once it is cleared; nor is a tombstone changed or deleted."""
    tombstone = models.Tombstone.objects.filter(run=past["paid"])
    acts: list[Callable[[], object]] = [
        functools.partial(tampering.deleted, model, row)
        for run in ("paid", "other")
        for model in (models.Entry, models.Fact, models.Plan)
        for row in model.objects.filter(run=past[run])[:1]
    ]
    line = models.Entry.objects.filter(run=past["other"]).first()
    assert line is not None
    mark = {"erased": models.Tombstone.objects.get(pk=tombstone.get().pk).content["head"]}
    acts += [
        lambda: models.Entry.objects.filter(run=past["paid"]).update(content=mark),
        lambda: models.Entry.objects.filter(pk=line.pk).update(content=mark),
        lambda: tombstone.update(cleared_at=None),
        lambda: tombstone.update(content={}),
        lambda: tampering.deleted(models.Tombstone, tombstone.get()),
    ]
    for act in acts:
        with pytest.raises(DatabaseError, match="append-only"):
            act()


def _what_it_did_is_still_known(run: models.Run, start: Start, admin: Actor) -> None:
    """A start that is sent again is the run that there was, and what stands is asked about."""
    agent_name, before = run.agent_version.agent.name, models.Run.objects.count()
    again = starts.start_run(
        agent_name, input={}, title="A test", by=Actor(user=run.created_by), token=run.start_token
    )
    assert (again.pk, models.Run.objects.count()) == (run.pk, before)
    document = {
        "version": 1,
        "rules": [
            {"name": "elsewhere", "match": {"seen_elsewhere": 300}, "verdict": "review"},
            {"name": "rest", "verdict": "allow"},
        ],
    }
    switches.set_policy(document, reason="for the test", by=admin)
    new = go(start(step("lookup", "pay")))
    assert (new.status, only_review(new).content["rule"]) == ("waiting", "elsewhere")


def test_7_3_killed_at_any_point_it_goes_on_and_is_verifiable_at_each(
    past: dict[str, models.Run], keep: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "BATCH", 7)
    aged(35, *past.values())
    rng, deaths, effects = random.Random(5), 0, World.effects()

    for clocks in ({"payloads": 30}, {"payloads": 30, "timeline": 30}, {"timeline": 30, "receipts": 30}):
        keep(**clocks)
        left = [rng.randrange(40)]

        def die(name: str, left: list[int] = left) -> None:
            if name.startswith(("seal.", "prune_")):
                left[0] -= 1
                if left[0] < 0:
                    raise KeyboardInterrupt(name)

        while True:
            points.arm(die)
            try:
                report = prune()
            except KeyboardInterrupt:
                deaths += 1
                left[0] = rng.randrange(60)
                assert found() == ""
            else:
                break
            finally:
                points.arm(None)
        assert report["left"] == []
        assert found() == ""
    assert deaths > 5
    assert {frozenset(parts(run)) for run in past.values()} == {frozenset(Part.values)}
    assert not models.Tombstone.objects.filter(cleared_at=None).exists()
    assert not models.Entry.objects.filter(run__in=past.values()).exists()
    assert World.effects() == effects
