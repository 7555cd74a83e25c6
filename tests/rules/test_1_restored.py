"""A restored, copied or rolled back database: nothing is done twice before a person released it."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection, connections

from ckptsite.services import postgres
from runs import models
from runs.engine import delivering, origin, verifier
from runs.selectors import deciding, shell
from runs.transitions import restores
from runs.transitions.actor import Actor
from runs.transitions.refusals import NotYours, Stale
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import crash
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]
COPY = "copy_of_a_test"


@contextlib.contextmanager
def copied() -> Iterator[Callable[[], contextlib.AbstractContextManager[None]]]:
    """Copy the database as it is now; gives what leads this process to the copy."""
    name = connection.settings_dict["NAME"]
    url = settings_url()
    connections.close_all()
    with postgres.connect(url, dbname="postgres") as server:
        server.autocommit = True
        _drop(server)
        server.execute(f"CREATE DATABASE {COPY} TEMPLATE {name}")
    try:
        yield lambda: _inside(COPY)
    finally:
        connections.close_all()
        with postgres.connect(url, dbname="postgres") as server:
            server.autocommit = True
            _drop(server)


def settings_url() -> str:
    import os

    return os.environ["DATABASE_URL"]


def _drop(server: psycopg.Connection) -> None:
    server.execute(f"DROP DATABASE IF EXISTS {COPY} WITH (FORCE)")


@contextlib.contextmanager
def _inside(name: str) -> Iterator[None]:
    connections.close_all()
    with mock.patch.dict(connection.settings_dict, {"NAME": name}):
        try:
            yield
        finally:
            connections.close_all()


def _found_out(run: models.Run, reviewer: models.User, *, asked: bool) -> None:
    if asked:
        question = only_review(run)
        assert question.kind == "in_doubt"
        answer(question, reviewer, "happened", receipt="It is in the sent folder.")
        run = go(run)
    assert run.status == "succeeded", (run.status, run.reason, run.error)
    assert len(World.effects("mail")) == 1
    verifier.verify()


@pytest.mark.parametrize("tool", ["lookup", "unprotected", "idempotent"])
def test_1_13_what_was_proposed_after_the_dump_is_not_sent_again(
    start: Start, reviewer: models.User, person: Person, tool: str
) -> None:
    """The dump knows the run and nothing of the letter: it is proposed and approved anew, and found out still."""
    admin = Actor(user=person("ada", "admin"))
    run = start(step("look", "it"), step(tool, "mail"))
    origin.ensure()
    with copied() as old:
        answer(only_review(go(run)), reviewer, "approve")
        assert go(run).status == "succeeded"
        with old():
            go(models.Run.objects.get(pk=run.pk))
            restores.release(reason="the old server is switched off", by=admin)
            answer(only_review(go(run)), reviewer, "approve")
            _found_out(go(run), reviewer, asked=tool == "unprotected")


@pytest.mark.parametrize("tool", ["lookup", "unprotected", "idempotent"])
def test_1_13_what_was_approved_before_a_restore_is_not_sent_again(
    start: Start, reviewer: models.User, person: Person, tool: str
) -> None:
    """Approved at ten, sent at eleven, restored from ten: first nothing starts, then it is found out, not sent."""
    admin = Actor(user=person("ada", "admin"))
    run = go(start(step(tool, "mail")))
    answer(only_review(run), reviewer, "approve")
    with copied() as old:
        assert go(run).status == "succeeded"
        assert len(World.effects("mail")) == 1
        with old():
            run = go(models.Run.objects.get(pk=run.pk))
            assert (run.status, len(World.effects("mail"))) == ("queued", 1)
            assert models.Installation.objects.get(pk=1).restored
            assert models.AuditEvent.objects.filter(act="database.restored").count() == 1
            restores.release(reason="the old server is switched off", by=admin)
            _found_out(go(run), reviewer, asked=tool == "unprotected")


def test_1_13_what_was_never_sent_is_sent_after_the_look(
    start: Start, reviewer: models.User, person: Person
) -> None:
    """The look-up after the horizon finds nothing: then it is sent, once, under the key that it would have had."""
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    restores.found(str(origin.read()), why="A test.")
    restores.release(reason="a test", by=Actor(user=person("ada", "admin")))
    run = go(run)
    assert (run.reason, World.effects()) == ("horizon", [])
    with clockwork.ahead(hours=1):
        run = go(run)
    assert run.status == "succeeded"
    assert len(World.effects("mail")) == 1
    verifier.verify()


def test_1_13_a_key_whose_window_is_over_is_not_sent_again(
    start: Start, reviewer: models.User, person: Person
) -> None:
    """Restored from two days ago: the provider has forgotten the key, so a person is asked."""
    run = go(start(step("idempotent", "mail")))
    answer(only_review(run), reviewer, "approve", token="first")
    models.Review.objects.filter(run=run).update(expires_at="2100-01-01T00:00:00Z")
    restores.found(str(origin.read()), why="A test.")
    restores.release(reason="a test", by=Actor(user=person("ada", "admin")))
    with clockwork.ahead(hours=48):
        run = go(run)
    assert (only_review(run).kind, World.effects()) == ("in_doubt", [])


def test_1_13_a_copy_tells_nobody_anything(start: Start) -> None:
    """Whoever sends notices looks where it is, too: it may be that no run is due, so that no worker did."""
    origin.ensure()
    with copied() as old, old():
        assert delivering.work(stopping=lambda: False) == 0
        assert models.Installation.objects.get(pk=1).restored


def test_1_13_what_is_started_afterwards_goes_as_ever(start: Start, person: Person) -> None:
    restores.found(str(origin.read()), why="A test.")
    restores.release(reason="a test", by=Actor(user=person("ada", "admin")))
    assert go(start(step("allowed", "draft"))).status == "succeeded"
    assert len(World.effects("draft")) == 1


def test_1_13_a_disk_that_was_rolled_back_shows_by_the_last_intent(start: Start) -> None:
    """The identity is the same, but the last effect that this machine began isn't in the database."""
    run = go(start(step("allowed", "draft")))
    kept = Path(settings.CKPTSITE_DATA) / "last-intent"
    record = json.loads(kept.read_text())
    assert record["run"] == run.pk
    connection.close()
    origin.ensure()
    assert not models.Installation.objects.get(pk=1).restored
    origin.remember(run=run.pk, action=record["action"], attempt=2, key=record["key"])
    connection.close()
    origin.ensure()
    installation = models.Installation.objects.get(pk=1)
    assert installation.restored
    assert "not in the database any more" in installation.restored_why
    assert not kept.exists()


def test_1_13_a_restart_and_a_new_database_trip_nothing(start: Start) -> None:
    """A fresh database is noted as it is; a new connection to the same one finds nothing to say."""
    models.Installation.objects.update(system="")
    for _ in range(2):
        connection.close()
        origin.ensure()
    installation = models.Installation.objects.get(pk=1)
    assert (installation.restored, installation.system) == (False, str(origin.read()))
    assert not models.AuditEvent.objects.filter(act__startswith="database.").exists()


def test_1_13_a_failover_releases_itself_only_where_replication_is_synchronous(start: Start) -> None:
    """The same cluster on another timeline: a standby took over, perhaps without the last commits."""
    here = origin.read()
    earlier = origin.Origin(system=here.system, timeline="00000000", database=here.database)
    models.Installation.objects.update(system=str(earlier))
    with mock.patch.object(settings, "CKPTSITE_SYNCHRONOUS_REPLICATION", True):
        connection.close()
        origin.ensure()
    assert not models.Installation.objects.get(pk=1).restored
    models.Installation.objects.update(system=str(earlier))
    connection.close()
    origin.ensure()
    assert models.Installation.objects.get(pk=1).restored


def test_1_13_a_part_that_may_not_be_read_is_not_compared(start: Start) -> None:
    here = origin.read()
    models.Installation.objects.update(system=str(here))
    hidden = origin.Origin(system="?", timeline=here.timeline, database=here.database)
    with mock.patch.object(origin, "read", return_value=hidden):
        connection.close()
        origin.ensure()
    assert not models.Installation.objects.get(pk=1).restored


def test_1_13_an_open_effect_is_found_out_after_the_release(
    start: Start, reviewer: models.User, person: Person
) -> None:
    """It was under way when the dump was made: it is looked up, which sends nothing, released or not."""
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    crash(run)
    restores.found(str(origin.read()), why="A test.")
    go(run)
    assert models.Action.objects.get(run=run).status == "succeeded"
    restores.release(reason="a test", by=Actor(user=person("ada", "admin")))
    assert go(run).status == "succeeded"
    assert len(World.effects("mail")) == 1


def test_1_13_an_open_effect_is_not_sent_again_before_the_release(
    start: Start, reviewer: models.User, person: Person
) -> None:
    """Under the same key it could be, but who knows what the lost part of the history did."""
    run = go(start(step("idempotent", "mail")))
    answer(only_review(run), reviewer, "approve")
    crash(run, before=True)
    restores.found(str(origin.read()), why="A test.")
    go(run)
    assert World.effects() == []
    restores.release(reason="a test", by=Actor(user=person("ada", "admin")))
    go(run)
    assert len(World.effects("mail")) <= 1


def test_1_13_a_person_releases_it_by_name_and_with_a_reason(person: Person) -> None:
    """Every page says why nothing starts; only an administrator lets it go on, once."""
    ada, rita = person("ada", "admin"), person("rita", "reviewer")
    restores.found(str(origin.read()), why="This is a copy.")
    seen = shell.shell(deciding.Viewer(user=rita, roles=frozenset({"reviewer"})))
    assert "This is a copy." in seen.halted
    with pytest.raises(NotYours):
        restores.release(reason="please", by=Actor(user=rita))
    for words, sentence in (
        (["--by", "nobody", "--reason", "x"], "nobody named 'nobody'"),
        (["--by", "rita", "--reason", "x"], "Only an administrator"),
        (["--by", "ada", "--reason", " "], "Say why"),
    ):
        with pytest.raises(CommandError, match=sentence):
            call_command("release_restored", *words)
    out = io.StringIO()
    call_command("release_restored", "--by", "ada", "--reason", "the old one is off", stdout=out)
    assert out.getvalue() == "Released: effects may start again.\n"
    assert models.AuditEvent.objects.get(act="database.released").actor == ada
    with pytest.raises(Stale):
        restores.release(reason="again", by=Actor(user=ada))
    assert not shell.shell(deciding.Viewer(user=rita, roles=frozenset({"reviewer"}))).halted


def test_1_13_a_release_by_hand_is_found(transactional_db: None) -> None:
    """Whoever turns the switch in the database itself leaves no act in the audit chain."""
    restores.found(str(origin.read()), why="A test.")
    verifier.verify()
    models.Installation.objects.update(restored=False)
    with pytest.raises(verifier.Broken, match="waits for a release"):
        verifier.verify()


def test_1_13_no_effect_starts_where_commits_may_be_forgotten(start: Start) -> None:
    """The server says that it may lose what it has committed: the run ends with that sentence, and nothing is sent."""
    run = start(step("allowed", "draft"))
    connection.close()
    with mock.patch.object(settings, "CKPTSITE_ALLOW_ASYNC_COMMIT", False):
        run = go(run)
    assert (run.status, World.effects()) == ("failed", [])
    assert "may forget what it has committed" in run.error
    assert only_review(run).kind == "failure"
