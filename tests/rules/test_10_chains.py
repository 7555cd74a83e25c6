"""Two chains: what was cut off, flipped or deleted before the last head is found, and refusals stall nobody."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection

from runs import exact, models
from runs.engine import verifier
from runs.transitions import refusals
from tests.core.tampering import unhindered
from tests.engine.conftest import answer, go, only_review, step

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


@pytest.fixture
def done(start: Start, reviewer: models.User) -> models.Run:
    """A run with an effect that was approved and done."""
    run = go(start(step("look", "it"), step("lookup", "pay")))
    answer(only_review(run), reviewer, "approve")
    assert go(run).status == "succeeded"
    verifier.verify()
    return run


def broken(match: str) -> None:
    """The verifier names the first bad row, inside the transaction that changed it."""
    with pytest.raises(verifier.Broken, match=match):
        verifier.verify()


def test_10_1_the_newest_run_is_not_deleted_without_trace(done: models.Run) -> None:
    """Its start is an act of the audit chain, with its root and the digest of its input."""
    event = models.AuditEvent.objects.get(run=done, act="run.started")
    assert event.content["input"] == done.input_digest
    with unhindered(), connection.cursor() as cursor:
        for table in (
            "decision",
            "review",
            "occurrence",
            "action",
            "planstep",
            "plan",
            "fact",
            "tenure",
            "entry",
            "account",
        ):
            cursor.execute(f"DELETE FROM runs_{table}")
        cursor.execute("DELETE FROM runs_run")
        broken("the run that it started is gone")


def test_10_1_the_newest_steps_are_not_cut_off(done: models.Run) -> None:
    """The end of a run is anchored: its log ends where the audit chain saw it end, whatever its row says."""
    last = models.Entry.objects.filter(run=done).order_by("position").last()
    before = models.Entry.objects.filter(run=done, position=done.position - 1).get()
    assert last is not None
    with unhindered():
        models.Entry._base_manager.filter(pk=last.pk)._raw_delete("default")
        broken(f"run {done.pk}: its log ends at position {before.position}")
    with unhindered():
        models.Entry._base_manager.filter(pk=last.pk)._raw_delete("default")
        models.Run.objects.filter(pk=done.pk).update(position=before.position, head=before.head)
        broken(f"run {done.pk}")


@pytest.mark.parametrize(
    ("model", "change", "sentence"),
    [
        (models.Action, {"status": "failed"}, r"action \d+: it is failed"),
        (models.Occurrence, {"state": "void"}, r"occurrence \d+: it is void"),
        (models.Run, {"status": "failed"}, r"run \d+"),
    ],
)
def test_10_2_a_flipped_ledger_line_is_found(
    done: models.Run, model: type[models.Action], change: dict[str, str], sentence: str
) -> None:
    """Both chains still verify; the fold of the log says otherwise."""
    with unhindered():
        model.objects.update(**change)
        broken(sentence)


@pytest.mark.parametrize("column", ["digest", "revision", "quorum", "consumed_by"])
def test_10_2_an_approval_that_was_moved_is_found(done: models.Run, column: str) -> None:
    """What was approved, by how many, and that it was used up."""
    review = models.Review.objects.get(run=done)
    value = {"digest": exact.digest_of("other"), "revision": 2, "quorum": 2, "consumed_by": None}[column]
    with unhindered():
        models.Review.objects.filter(pk=review.pk).update(**{column: value})
        broken(rf"review {review.pk}|action \d+")


@pytest.mark.parametrize("model", [models.Pins, models.Contract])
def test_10_2_what_a_run_is_pinned_to_is_not_changed_unseen(
    done: models.Run, model: type[models.Pins] | type[models.Contract]
) -> None:
    """Neither the pins nor a contract that they name, whether it is changed or gone."""
    row = model.objects.order_by("pk").first()
    assert row is not None
    with unhindered():
        model.objects.filter(pk=row.pk).update(content={**row.content, "version": 99})
        broken("was changed|were changed")
    with unhindered():
        model._base_manager.filter(pk=row.pk)._raw_delete("default")
        broken("gone|pins|contract")


def test_10_3_the_chain_needs_its_key(done: models.Run, settings: object) -> None:
    """Somebody who rewrites an event with its hash, but has no key, is found."""
    event = models.AuditEvent.objects.order_by("seq").first()
    assert event is not None
    with unhindered():
        forged = exact.digest_of([event.previous, event.seq, "somebody else"])
        models.AuditEvent._base_manager.filter(pk=event.pk).update(act="run.forged", hash=forged)
        broken(f"audit event {event.seq} was changed")


def test_10_4_refused_attempts_do_not_touch_the_head(start: Start, reviewer: models.User) -> None:
    """An outsider who is refused again and again stalls nobody's decision: the chain's head stays as it is."""
    review = only_review(go(start(step("lookup", "pay"))))
    head = models.AuditHead.objects.get(pk=1)
    for number in range(5):
        with pytest.raises(refusals.Refused):
            answer(review, reviewer, "approve", digest="0" * 64, token=f"refused-{number}")
    assert models.AuditHead.objects.get(pk=1).hash == head.hash
    answer(review, reviewer, "approve")
    assert models.AuditHead.objects.get(pk=1).seq == head.seq + 1
