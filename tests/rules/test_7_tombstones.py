"""Rule 7.3: what stays of erased work, and what was told of it, is watched like everything else."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError

from runs import models
from runs.transitions import tombstones
from tests.core import tampering
from tests.rules.erasing import aged, found, keep, past, prune

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["keep", "past"]


def test_7_3_what_stays_is_watched_and_so_is_what_was_told(
    past: dict[str, models.Run], keep: Callable[..., None]
) -> None:
    """Each column of what stays, each tombstone, and rows that come back: changed by whoever owns the database."""
    keep(payloads=30, timeline=60, receipts=90)
    aged(40, past["paid"])
    aged(70, past["old"], past["new"])
    aged(100, past["refused"], past["child"], past["parent"])
    spare = models.Entry.objects.filter(run=past["paid"]).latest("position")
    prune()
    assert found() == ""
    rng, missed = random.Random(3), []
    watched: list[tuple[Any, str, Any]] = []
    for run in (past["paid"], past["new"], past["refused"]):
        run.refresh_from_db()
        watched += [
            (models.Run, name, run) for name in tombstones.RUN if name not in {"pk", "root_id", "pins_id"}
        ]
        watched += [
            (model, name, row)
            for model, names in (
                (models.Action, tombstones.ACTION), (models.Review, tombstones.REVIEW),
                (models.Occurrence, (*tombstones.OCCURRENCE, "receipt")),
            )
            for row in _of(model, run)[:1]
            for name in names
            if name != "pk"
        ]  # fmt: skip
        watched += [
            (models.Tombstone, name, row)
            for row in models.Tombstone.objects.filter(run=run)
            for name in ("run", "part", "content")
        ]
    assert {model for model, _, _ in watched} == {
        models.Run, models.Action, models.Review, models.Occurrence, models.Tombstone
    }  # fmt: skip
    for model, name, row in watched:
        with tampering.unhindered():
            field = model._meta.get_field(name.removesuffix("_id"))
            try:
                tampering.flip(model, field, row, rng)
            except DatabaseError:
                continue  # the database itself refuses it, even to its owner
            if not found():
                missed.append(f"{model.__name__}.{name} of {row}")
    assert missed == []
    _what_goes_or_comes_back_is_found(past, spare)
    assert found() == ""


def _of(model: Any, run: models.Run) -> Any:
    where = {"root": run.root_id} if model is models.Occurrence else {"run": run}
    return model.objects.filter(**where).order_by("pk")


def _what_goes_or_comes_back_is_found(past: dict[str, models.Run], spare: models.Entry) -> None:
    refused, paid = past["refused"], past["paid"]
    forged = models.Tombstone(run=past["other"], part="payloads", content={})
    line = models.Entry(run=refused, position=refused.position, kind=spare.kind, content={}, head=spare.head)
    acts: dict[str, Callable[[], object]] = {
        "tombstone": lambda: tampering.deleted(
            models.Tombstone, models.Tombstone.objects.filter(run=paid)[0]
        ),
        "forged": lambda: forged.save(force_insert=True),
        "line back": lambda: line.save(force_insert=True),
        "line gone": lambda: tampering.deleted(models.Entry, spare),
        "content": lambda: models.Entry.objects.filter(pk=spare.pk).update(content=spare.content | {"x": 1}),
        "effect gone": lambda: tampering.deleted(models.Occurrence, _of(models.Occurrence, paid)[0]),
        "pins": lambda: models.Run.objects.filter(pk=refused.pk).update(pins=None),
        "run gone": lambda: tampering.deleted(models.Run, refused),
    }
    for what, act in acts.items():
        with tampering.unhindered():
            act()
            assert found(), what
