"""Two chains: what was cut off, flipped or deleted before the last head is found, and refusals stall nobody."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core import management
from django.db import connection, transaction

from runs import exact, models
from runs.engine import chains, heads, verifier
from runs.transitions import anchors, audit, refusals
from runs.transitions.actor import CLOCK
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


def cut_off(run: models.Run, *, back: int) -> None:
    """Cut off the newest lines of a run, and make its row and all that belongs to them agree with what is left."""
    at = models.Entry.objects.get(run=run, position=run.position - back)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM runs_entry WHERE run_id = %s AND position > %s", [run.pk, at.position])
    models.Run.objects.filter(pk=run.pk).update(position=at.position, head=at.head)


def test_10_1_the_newest_steps_of_a_run_that_goes_on_are_not_cut_off(
    start: Start, reviewer: models.User
) -> None:
    """Nor a run whose newest steps were cut off together with its row: the clock names where each log ends."""
    first, other = go(start(step("look", "it"), step("lookup", "pay"))), go(start(step("lookup", "b")))
    assert anchors.anchor() == 2
    assert anchors.anchor() == 0  # nothing is new, so nothing is named again
    verifier.verify()
    with unhindered():
        cut_off(first, back=1)
        broken(
            rf"run {first.pk}: log position {first.position} is not what the audit chain saw, or was cut off"
        )
    answer(only_review(first), reviewer, "approve")
    first = go(first)
    assert anchors.anchor() == 1
    event = models.AuditEvent.objects.filter(act="runs.anchored").latest("seq")
    assert [row[:2] for row in event.content["runs"]] == [[first.pk, first.position]]
    verifier.verify()
    with unhindered():  # a run that vanishes whole is named twice, by its start and by its anchor
        models.Entry._base_manager.filter(run=other)._raw_delete("default")
        broken(rf"run {other.pk}: log position {other.position}")


def test_10_1_a_line_that_was_committed_late_is_named_all_the_same(start: Start) -> None:
    """Lines get their numbers before they are committed: an anchor in between must not pass one over for good."""
    late, run = go(start(step("lookup", "a"))), go(start(step("lookup", "b")))
    rows = list(models.Entry.objects.filter(run=late))
    with owned(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM runs_entry WHERE run_id = %s", [late.pk])
    assert (anchors.anchor(), named()) == (1, [run.pk])
    with owned():
        models.Entry.objects.bulk_create(rows)
    assert (anchors.anchor(), named()) == (1, [late.pk])
    verifier.verify()


def named() -> list[int]:
    """Return the runs that the newest anchor names."""
    return [row[0] for row in models.AuditEvent.objects.filter(act=anchors.ACT).latest("seq").content["runs"]]


@contextmanager
def owned() -> Iterator[None]:
    """A transaction of somebody who owns the database, which is committed."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield


def test_10_3_a_tail_cut_off_with_its_head_row_is_found_by_a_head_kept_elsewhere(
    done: models.Run, tmp_path: Path
) -> None:
    """Whoever owns the database and its keys can cut off the chain's end; a head on another machine shows it."""
    file = tmp_path / "heads.jsonl"
    assert heads.export(file)
    assert not heads.export(file)  # the head is there already
    kept = heads.read(file)
    assert verifier.verify(kept).events == max(kept)
    last = models.AuditEvent.objects.latest("seq")
    with unhindered():
        models.AuditEvent._base_manager.filter(pk=last.pk)._raw_delete("default")
        models.AuditHead.objects.update(seq=last.seq - 1, hash=last.previous)
        assert chains.events({})[0] == last.seq - 1  # nothing in the database says so
        with pytest.raises(verifier.Broken, match=rf"event {last.seq} was kept elsewhere"):
            verifier.verify(kept)
    with unhindered():  # rolled back, and gone on from there with the key
        models.AuditEvent._base_manager.filter(pk=last.pk)._raw_delete("default")
        models.AuditHead.objects.update(seq=last.seq - 1, hash=last.previous)
        audit.append("switch.off", actor=CLOCK, subject="switch all", content={"switch": "all", "reason": ""})
        with pytest.raises(verifier.Broken, match="is not the one whose head was kept elsewhere"):
            verifier.verify(kept)
    said = io.StringIO()
    management.call_command("audit_verify", head=file, stdout=said)
    assert "goes on from each head" in said.getvalue()
    file.write_text("nothing\n")
    with pytest.raises(management.CommandError, match=r"Line 1 of .* is no head"):
        management.call_command("audit_verify", head=file)


def test_10_3_the_head_goes_out_hourly_and_after_each_start_of_what_cannot_be_undone(
    start: Start, person: Callable[..., models.User], reviewer: models.User, settings: Any, tmp_path: Path
) -> None:
    """The clock does both; a place that is away for a while only makes it try again."""
    settings.CKPTSITE_AUDIT_HEADS = tmp_path / "away" / "heads.jsonl"
    run = go(start(step("costly", "fee")))
    keeper = heads.Keeper()
    keeper.look()
    settings.CKPTSITE_AUDIT_HEADS.parent.mkdir()
    keeper.look()
    first = heads.read(settings.CKPTSITE_AUDIT_HEADS)
    keeper.look()
    answer(only_review(run), person("rob", "reviewer"), "approve")
    keeper.look()
    assert heads.read(settings.CKPTSITE_AUDIT_HEADS) == first  # an hour isn't over
    assert go(run).status == "succeeded"
    keeper.look()
    now = heads.read(settings.CKPTSITE_AUDIT_HEADS)
    assert max(now) == models.AuditHead.objects.get(pk=1).seq > max(first)
    verifier.verify(now)


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
        with pytest.raises(verifier.Broken, match=sentence):
            verifier.verify()


@pytest.mark.parametrize("column", ["digest", "revision", "quorum", "consumed_by"])
def test_10_2_an_approval_that_was_moved_is_found(done: models.Run, column: str) -> None:
    """What was approved, by how many, and that it was used up."""
    review = models.Review.objects.get(run=done)
    value = {"digest": exact.digest_of("other"), "revision": 2, "quorum": 2, "consumed_by": None}[column]
    with unhindered():
        models.Review.objects.filter(pk=review.pk).update(**{column: value})
        with pytest.raises(verifier.Broken, match=rf"review {review.pk}|action \d+"):
            verifier.verify()


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
