"""Nothing is changed behind the product's back unseen: rows of real runs are flipped, deleted, swapped and inserted."""

from __future__ import annotations

import datetime
import functools
import io
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core import management
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db import models as fields

from runs import exact, models
from runs.engine import verifier
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import Killed, expire_lease, tomorrow
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]

# What decides nothing, and so may be told in other words: titles, messages, and when a row was made or closed.
FREE: dict[type[fields.Model], set[str]] = {
    models.AuditEvent: set(),
    models.Entry: {"id", "created_at"},
    models.Action: {
        "id", "created_at", "closed_at", "error", "duplicate_of", "blocked_by", "retry_of", "not_before",
    },
    models.Revision: {"id", "created_at", "author", "reason"},
    models.Occurrence: {"id", "created_at", "settled_at", "first_sent_at", "verification"},
    models.PlanStep: {"id"},
    models.Decision: {"id", "created_at", "token", "channel", "ip"},
}  # fmt: skip
NOUNS = {
    models.AuditEvent: r"audit (event|chain)",
    models.Entry: r"run \d+",
    models.Action: r"action \d+|occurrence \d+|run \d+: the action",
    models.Revision: r"action \d+",
    models.Occurrence: r"(occurrence|action) \d+",
    models.PlanStep: r"run \d+, plan step",
    models.Decision: r"decision \d+|review \d+",
}
TABLES = sorted(FREE, key=lambda model: model.__name__)


@pytest.fixture
def history(start: Start, reviewer: models.User, operator: models.User) -> list[models.Run]:
    """Runs that went every way: done, refused, lost, given up, failed, and one that still waits."""
    done = start(step("look", "it"), step("lookup", "mail"), step("costly", "fee", id="fee"))
    refused = start(step("unprotected", "a"), step("idempotent", "b"))
    runs = [_answered(done, reviewer, "approve"), _answered(refused, reviewer, "reject")]
    runs.append(go(start(step("allowed", "draft"))))
    for verdict, more in (("happened", {"receipt": "Seen."}), ("unknown", {}), ("absent_leave", {})):
        runs.append(_doubted(start, reviewer, verdict, more))
    World.absent = "the address does not exist"
    failed = go(start(step("allowed", "gone")))
    World.absent = ""
    waiting = go(start(step("lookup", "mail"), step("unprotected", "other")))
    runs += [failed, waiting]
    assert " ".join(run.status for run in runs) == (
        "succeeded succeeded succeeded succeeded succeeded failed failed waiting"
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
    answer(only_review(run), reviewer, verdict, rendered_at=tomorrow(), **more)
    return go(run)


def _die() -> None:
    raise Killed


@contextmanager
def tampered() -> Iterator[None]:
    """A transaction of somebody who owns the database: no trigger and no foreign key is in the way."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
        yield
        transaction.set_rollback(True)


def found() -> str:
    """What `audit_verify` says, or nothing when it finds nothing."""
    said = io.StringIO()
    try:
        management.call_command("audit_verify", stdout=said)
    except management.CommandError as error:
        return str(error) if error.returncode == 1 else ""
    return ""


def other(field: Any, value: Any, rng: random.Random) -> Any:
    """A value that the column can hold and that isn't this one."""
    kind = type(field).__name__
    if isinstance(value, bool):
        return not value
    if isinstance(value, datetime.datetime):
        return value + datetime.timedelta(microseconds=rng.choice([1, 10**9]))
    if kind == "DigestField":
        return exact.digest_of(f"{value}{rng.random()}")
    if kind == "ExactField":
        return (
            {"tampered": rng.random()}
            if rng.random() < 0.5 or not isinstance(value, dict)
            else value | {"x": 1}
        )
    if (
        isinstance(value, int)
        or (value is None and "Integer" in kind)
        or kind in {"ForeignKey", "BigAutoField"}
    ):
        return 2 if field.name == "tier" and value != 2 else 3 if field.name == "tier" else (value or 0) + 1
    if kind == "GenericIPAddressField":
        return "10.0.0.7"
    if kind == "DateTimeField":
        return datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    options = [choice for choice, _ in (field.choices or []) if choice != value]
    return rng.choice(options) if options else "x" + str(value or "")[1:]


def flip(model: type[fields.Model], field: Any, row: fields.Model, rng: random.Random) -> None:
    """Change one column of one row."""
    value = other(field, getattr(row, field.attname), rng)
    assert model._base_manager.filter(pk=row.pk).update(**{field.attname: value}) == 1


def columns(model: type[fields.Model]) -> list[Any]:
    """Every column that the verifier answers for."""
    return [field for field in model._meta.concrete_fields if field.name not in FREE[model]]


def rows(model: type[fields.Model]) -> list[Any]:
    return list(model._base_manager.order_by("pk"))


def test_every_column_of_every_kind_of_row_is_watched(history: list[models.Run]) -> None:
    """Each column in turn, on a random row; the answer names the row."""
    rng = random.Random(7)
    missed = []
    for model in TABLES:
        for field in columns(model):
            row = rng.choice(rows(model))
            with tampered():
                try:
                    flip(model, field, row, rng)
                except IntegrityError:
                    continue  # the database itself refuses it, even to its owner
                said = found()
            if not re.match(NOUNS[model], said):
                missed.append(f"{model.__name__}.{field.name} of {row}: {said or 'nothing found'}")
    assert missed == []
    assert found() == ""


def test_rows_that_go_come_or_change_places_are_found(history: list[models.Run]) -> None:
    rng = random.Random(11)
    missed = []
    for model in TABLES:
        one, two, three = rng.sample(rows(model), 3)
        acts: dict[str, Callable[[], object]] = {
            f"{one} deleted": functools.partial(deleted, model, one),
            f"a copy of {two} inserted": functools.partial(inserted, model, two),
            f"{two} and {three} swapped": functools.partial(swapped, model, two, three),
        }
        for what, act in acts.items():
            with tampered():
                act()
                said = found()
            if not re.match(NOUNS[model], said):
                missed.append(f"{what}: {said or 'nothing found'}")
    assert missed == []


def deleted(model: Any, row: Any) -> None:
    """Take the row away, past everything that hangs on it."""
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {model._meta.db_table} WHERE {model._meta.pk.column} = %s", [row.pk])


def inserted(model: Any, row: Any) -> None:
    """Put a copy of the row beside it, under the next free number."""
    copy = model._base_manager.get(pk=row.pk)
    numbers = {
        models.AuditEvent: "seq", models.Entry: "position", models.Action: "call_index", models.Revision: "number",
        models.Occurrence: "n", models.PlanStep: "order", models.Decision: "revision",
    }  # fmt: skip
    if model is not models.AuditEvent:
        copy.pk = None
    setattr(copy, numbers[model], getattr(row, numbers[model]) + 1000)
    for name, value in {"key": exact.digest_of(row.pk), "token": f"forged-{row.pk}", "number": None}.items():
        if hasattr(copy, name) and name != numbers[model]:
            setattr(copy, name, value)
    if model is models.Entry:
        copy.boundary, copy.counters = None, None
    if model is models.AuditEvent:
        copy.previous = exact.digest_of(row.pk)
    copy.save(force_insert=True)


def swapped(model: Any, one: Any, two: Any) -> None:
    """Let two rows exchange what they say, each keeping its place."""
    places = {
        models.AuditEvent: {"seq", "previous", "hash"},
        models.Entry: {"run", "position", "number", "boundary", "counters"},
        models.Action: {"run", "reply_position", "call_index"}, models.Revision: {"action", "number"},
        models.Occurrence: {"root", "tool", "identity_digest", "n", "key"}, models.PlanStep: {"run", "key", "order"},
        models.Decision: {"review", "revision", "person", "token"},
    }  # fmt: skip
    kept = places[model] | {model._meta.pk.name}
    names = [field.attname for field in model._meta.concrete_fields if field.name not in kept]
    for row, source in ((one, two), (two, one)):
        model._base_manager.filter(pk=row.pk).update(**{name: getattr(source, name) for name in names})


def test_a_rewritten_log_is_found_although_its_own_chain_is_whole(history: list[models.Run]) -> None:
    """Whoever rewrites a run's log from its first line, heads and all, still can't rewrite the audit chain."""
    from runs.transitions import log

    run = history[0]
    with tampered():
        head = exact.EMPTY
        for line in models.Entry.objects.filter(run=run).order_by("position"):
            if line.kind == "end":
                line.content = line.content | {"summary": "Nothing happened."}
                line.digest = exact.digest_of(line.content)
            line.head = head = log.chain(head, line)
            line.save()
        models.Run.objects.filter(pk=run.pk).update(head=head)
        assert re.match(rf"run {run.pk}: .* is not what the audit chain saw", found())


def test_forged_approvals_are_found(history: list[models.Run]) -> None:
    review = models.Review.objects.filter(run=history[-1], status="open").first()
    assert review is not None
    with tampered():
        models.Review.objects.filter(pk=review.pk).update(
            status="approved", votes=1, answer="approve", closed_at=tomorrow()
        )
        assert re.match(rf"review {review.pk}", found())


def test_append_only_rows_can_not_be_changed_in_passing(history: list[models.Run]) -> None:
    for model in (
        models.Entry,
        models.Revision,
        models.Decision,
        models.AuditEvent,
        models.Fact,
        models.Plan,
    ):
        row = rows(model)[0]
        for act in (row.save, functools.partial(deleted, model, row)):
            with pytest.raises(DatabaseError, match="append-only"):
                act()


def test_the_command_ends_with_1_and_names_the_row(
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
