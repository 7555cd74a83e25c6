"""Nothing is changed behind the product's back unseen: rows of real runs are flipped, deleted, swapped and inserted."""

from __future__ import annotations

import functools
import io
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.core import management
from django.db import DatabaseError, IntegrityError, connection, transaction

from runs import exact, models
from runs.engine import chains, verifier
from runs.selectors import grants
from runs.transitions import anchors, evidence
from tests.core import tampering
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import Killed, expire_lease, tomorrow
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


@pytest.fixture
def history(start: Start, reviewer: models.User, operator: models.User) -> list[models.Run]:
    """Runs that went every way: done, refused, lost, given up, failed, and one that still waits."""
    done = start(step("look", "it"), step("lookup", "mail"), step("costly", "fee", id="fee"))
    refused = start(step("unprotected", "a"), step("idempotent", "b"))
    runs = [_answered(done, reviewer, "approve"), _answered(refused, reviewer, "reject")]
    runs.append(go(start(step("allowed", "draft"))))
    for verdict, more in (
        ("happened", {"receipt": "Seen."}), ("evidence", {}), ("unknown", {}), ("absent_leave", {}),
    ):  # fmt: skip
        runs.append(_doubted(start, reviewer, verdict, more))
    World.absent = "the address does not exist"
    failed = go(start(step("allowed", "gone")))
    World.absent = ""
    waiting = go(start(step("lookup", "mail"), step("unprotected", "other")))
    runs += [failed, waiting]
    assert " ".join(run.status for run in runs) == (
        "succeeded succeeded succeeded succeeded succeeded succeeded failed failed waiting"
    )
    verifier.verify()
    return runs


def _answered(run: models.Run, reviewer: models.User, verdict: str) -> models.Run:
    """The run after every question was answered in the same way."""
    while go(run).status == "waiting":
        answer(only_review(run), reviewer, verdict)
    return run


def _doubted(start: Start, reviewer: models.User, verdict: str, more: dict[str, Any]) -> models.Run:
    """A run whose worker died inside its effect, and what a person said about it."""
    run = go(start(step("unprotected", f"lost-{verdict}")))
    answer(only_review(run), reviewer, "approve")
    World.after = _die
    with pytest.raises(Killed):
        go(run)
    World.after = None
    expire_lease(run)
    run = go(run)
    if verdict in {
        "evidence",
        "happened",
    }:  # what its worker knew comes in late: once it settles, else it is kept
        if verdict == "happened":
            answer(only_review(run), reviewer, verdict, rendered_at=tomorrow(), **more)
        content = {"summary": "Sent.", "value": None}
        action = models.Action.objects.get(run=run)
        for number in range(2):
            run = go(run)
            evidence.append(
                action.pk,
                attempt=1,
                outcome="happened",
                source="worker",
                content=content | {"value": f"{verdict} {number}"},
            )
        return go(run)
    answer(only_review(run), reviewer, verdict, rendered_at=tomorrow(), **more)
    return go(run)


def _die() -> None:
    raise Killed


def found() -> str:
    """What `audit_verify` says, or nothing when it finds nothing."""
    said = io.StringIO()
    try:
        management.call_command("audit_verify", stdout=said)
    except management.CommandError as error:
        return str(error) if error.returncode == 1 else ""
    return ""


def _every_column_of_every_kind_of_row_is_watched(history: list[models.Run]) -> None:
    """Each column in turn, on a random row; the answer names the row."""
    rng = random.Random(7)
    missed = []
    for model in tampering.TABLES:
        for field in tampering.columns(model):
            row = rng.choice([one for one in tampering.rows(model) if tampering.decides(field, one)])
            with tampering.unhindered():
                try:
                    tampering.flip(model, field, row, rng)
                except IntegrityError:
                    continue  # the database itself refuses it, even to its owner
                said = found()
            if not re.match(tampering.NOUNS[model], said):
                missed.append(f"{model.__name__}.{field.name} of {row}: {said or 'nothing found'}")
    assert missed == []
    assert found() == ""


def _rows_that_go_come_or_change_places_are_found(history: list[models.Run]) -> None:
    rng = random.Random(11)
    missed = []
    for model in tampering.TABLES:
        one, two, three = rng.sample(tampering.rows(model), 3)
        acts: dict[str, Callable[[], object]] = {
            f"{one} deleted": functools.partial(tampering.deleted, model, one),
            f"a copy of {two} inserted": functools.partial(tampering.inserted, model, two),
            f"{two} and {three} swapped": functools.partial(tampering.swapped, model, two, three),
        }
        for what, act in acts.items():
            with tampering.unhindered():
                act()
                said = found()
            if not re.match(tampering.NOUNS[model], said):
                missed.append(f"{what}: {said or 'nothing found'}")
    assert missed == []


def test_a_thousand_changes_of_the_chains_are_found_a_thousand_times(history: list[models.Run]) -> None:
    """Flipped bytes and columns, deleted, swapped and inserted rows, and a tail that was rolled back with its head row:
    at random places of the audit chain and of the runs' logs, each looked at by itself."""
    anchors.anchor()
    runs = [models.Run.objects.get(pk=run.pk) for run in history]
    rng = random.Random(23)
    head = models.AuditHead.objects.get(pk=1)
    lines = {run.pk: [row for row in tampering.rows(models.Entry) if row.run_id == run.pk] for run in runs}
    events = tampering.rows(models.AuditEvent)
    missed, kinds = [], Counter[str]()
    with tampering.unhindered():
        while kinds.total() < 1000:
            run = None if rng.random() < 0.25 else rng.choice(runs)
            rows = events if run is None else lines[run.pk]
            mark = transaction.savepoint()
            try:
                with transaction.atomic():
                    what = tampering.one_change(rng, rows, run)
            except IntegrityError:  # the database itself refuses it, even to its owner
                continue
            kinds[what.split()[0]] += 1
            try:
                if run is None:
                    chains.events({head.seq: head.hash})
                else:
                    run.refresh_from_db(fields=["position", "head", "checkpoint_number"])
                    list(chains.lines(run))
                    if what.startswith("rolled"):
                        chains.anchored()
                missed.append(what)
            except verifier.Broken:
                pass
            transaction.savepoint_rollback(mark)
    assert missed == []
    assert min(kinds[name] for name in ("byte", "column", "deleted", "swapped", "inserted", "rolled")) > 80, (
        kinds
    )
    assert found() == ""


def test_web_and_worker_can_work_as_a_role_that_rewrites_nothing(start: Start, reviewer: models.User) -> None:
    """A whole run is worked off with the rights of `sql_grants`, which change and delete no log or audit trail."""
    said = io.StringIO()
    management.call_command("sql_grants", "ckptsite_app", stdout=said)
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE ckptsite_app")
        cursor.execute(said.getvalue())
        try:
            cursor.execute("SET ROLE ckptsite_app")
            run = start(step("look", "it"), step("lookup", "mail"), step("costly", "fee", id="fee"))
            assert _answered(run, reviewer, "approve").status == "succeeded"
            anchors.anchor()
            verifier.verify()
            for table in (*grants.append_only(), "django_migrations", "runs_tombstone"):
                for act in (
                    f"UPDATE {table} SET id = id",
                    f"DELETE FROM {table}",
                    f"TRUNCATE {table} CASCADE",
                ):
                    with pytest.raises(DatabaseError, match="permission denied"):
                        cursor.execute(act.replace("id = id", f"{_key(table)} = {_key(table)}"))
            for act in (
                "ALTER TABLE runs_auditevent DISABLE TRIGGER ALL",
                "SET session_replication_role = replica",
                "INSERT INTO runs_tombstone DEFAULT VALUES",
            ):
                with pytest.raises(DatabaseError, match=r"permission denied|must be owner"):
                    cursor.execute(act)
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute("DROP OWNED BY ckptsite_app; DROP ROLE ckptsite_app")
    assert {"runs_auditevent", "runs_entry", "runs_decision", "runs_refusal"} <= set(grants.append_only())


def _key(table: str) -> str:
    """The table's first column."""
    with connection.cursor() as cursor:
        return str(connection.introspection.get_table_description(cursor, table)[0].name)


def _a_rewritten_log_is_found_although_its_own_chain_is_whole(history: list[models.Run]) -> None:
    """Whoever rewrites a run's log from its first line, heads and all, still can't rewrite the audit chain."""
    from runs.transitions import log

    run = history[0]
    with tampering.unhindered():
        head = exact.EMPTY
        for line in models.Entry.objects.filter(run=run).order_by("position"):
            if line.kind == "end":
                line.content = line.content | {"summary": "Nothing happened."}
            line.head = head = log.chain(head, line)
            line.save()
        models.Run.objects.filter(pk=run.pk).update(head=head)
        assert re.match(rf"run {run.pk}: .* is not what the audit chain saw", found())


def _forged_approvals_are_found(history: list[models.Run]) -> None:
    review = models.Review.objects.filter(run=history[-1], status="open").first()
    assert review is not None
    with tampering.unhindered():
        models.Review.objects.filter(pk=review.pk).update(
            status="approved", votes=1, answer="approve", closed_at=tomorrow()
        )
        assert re.match(rf"review {review.pk}", found())


def _append_only_rows_can_not_be_changed_in_passing(history: list[models.Run]) -> None:
    for model in (
        models.Entry,
        models.Decision,
        models.AuditEvent,
        models.Fact,
        models.Plan,
    ):
        row = tampering.rows(model)[0]
        for act in (row.save, functools.partial(tampering.deleted, model, row)):
            with pytest.raises(DatabaseError, match="append-only"):
                act()


def test_whatever_is_changed_is_found(
    history: list[models.Run], child_environment: dict[str, str], subtests: pytest.Subtests
) -> None:
    """Each change is taken back, so that one history serves them all; what the command sees is the last."""
    for changes in (
        _append_only_rows_can_not_be_changed_in_passing,
        _every_column_of_every_kind_of_row_is_watched,
        _rows_that_go_come_or_change_places_are_found,
        _a_rewritten_log_is_found_although_its_own_chain_is_whole,
        _forged_approvals_are_found,
    ):
        with subtests.test(changes.__name__):
            changes(history)
    with subtests.test("the command"):
        _the_command_ends_with_1_and_names_the_row(history, child_environment)


def _the_command_ends_with_1_and_names_the_row(
    history: list[models.Run], child_environment: dict[str, str]
) -> None:
    def verify() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", "audit_verify"]
        return subprocess.run(
            command, env=child_environment, capture_output=True, text=True, check=False, timeout=60
        )

    clean = verify()
    assert clean.returncode == 0, clean.stderr
    assert f"{len(history)} runs" in clean.stdout
    action = models.Action.objects.filter(run=history[0]).first()
    assert action is not None
    models.Action.objects.filter(pk=action.pk).update(tier=1)
    broken = verify()
    assert broken.returncode == 1
    assert f"action {action.pk}: its tier is not what the log says" in broken.stderr
