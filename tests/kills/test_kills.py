"""kill -9 of the worker, of Valkey and of PostgreSQL: no effect twice, no run lost, the chain whole.

Real processes on real servers of this file's own. A run is held at an exact point, and then its process is killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections
from django.test import Client
from pytest_django.plugin import DjangoDbBlocker

from ckptsite import addresses
from ckptsite.services import postgres
from runs import hints, models
from runs.engine import verifier
from tests import fresh, waiting
from tests.kills import gates
from tests.kills import site as sites
from tests.kills.site import Site

pytestmark = pytest.mark.seconds

BEFORE_A_DECISION = ("claim.after", "reply.before", "reply.after", "prepare.before", "prepare.after")
AFTER_IT = (
    "fold_in.before", "intent.before", "intent.after", "mail.before", "mail.after", "happened.after", "fee.before",
    "fee.after", "finish.before", "finish.after",
)  # fmt: skip


@pytest.fixture(scope="module")
def servers(django_db_blocker: DjangoDbBlocker) -> Iterator[Site]:
    """A PostgreSQL that keeps its commits, and a Valkey, with tables and people."""
    with tempfile.TemporaryDirectory(prefix="ckptsite-kills-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        made = Site(Path(name) / "data")
        try:
            made.start("postgres", "valkey")
            postgres.make_database(made.folder.database_url)
            address = {"DATABASE_URL": made.folder.database_url}
            with django_db_blocker.unblock(), here(made), mock.patch.dict(os.environ, address):
                fresh.migrated()
                sites.people()
            yield made
        finally:
            made.stop()


@contextlib.contextmanager
def here(site: Site) -> Iterator[None]:
    """Point this process's database connection at the site's server.

    Its own hints would go to another Valkey; the clock finds the work without them.
    """
    address = addresses.database(site.database_url).django()
    connection.close()
    with (
        mock.patch.dict(connections["default"].settings_dict, address),
        mock.patch.object(hints, "_publish", return_value=False),
    ):
        try:
            yield
        finally:
            connection.close()


@pytest.fixture
def site(servers: Site, django_db_blocker: DjangoDbBlocker) -> Iterator[Site]:
    """The servers, with worker and clock; what a test leaves running ends with it."""
    with django_db_blocker.unblock(), here(servers):
        servers.start("worker", "clock")
        yield servers
        servers.open()
        for name in ("worker", "clock"):
            if name in servers.running:
                servers.kill(name)
        for name in ("valkey", "postgres"):
            if name not in servers.running:
                servers.start(name)


def proven(site: Site, runs: list[models.Run]) -> None:
    """Every approved effect happened exactly once in the world, and the records agree with it."""
    done = models.Action.objects.filter(status="succeeded")
    tools = Counter(done.values_list("tool", flat=True))
    assert site.letters() == tools["email.send"]
    fees = site.fees()
    assert len(fees) == len(set(fees)) == tools["ledger.post_late_fee"]
    assert not (site.gates.parent / "wrong").exists(), (site.gates.parent / "wrong").read_text()
    lines = site.lines()
    assert len(lines) == len(set(lines)) == tools["kills.wire"]
    for run in runs:
        wanted = {"email.send": 1, "ledger.post_late_fee": 1} if run.input.get("file") else {"kills.wire": 1}
        wanted = {} if run.agent_version.tools == ["kills.read"] else wanted
        assert Counter(done.filter(run=run).values_list("tool", flat=True)) == wanted
    verifier.verify()


def held(site: Site, points: dict[str, models.Run]) -> None:
    """Answer what is asked until a worker waits at every point."""

    def all_there() -> bool:
        sites.answer_all(site)
        return all(site.waits_at(run, point) for point, run in points.items())

    waiting.until(all_there, within=40, what=f"workers at {list(points)}")


@pytest.mark.parametrize("points", [BEFORE_A_DECISION, AFTER_IT], ids=["before a decision", "after it"])
def test_a_killed_worker_doubles_and_loses_nothing(site: Site, points: tuple[str, ...]) -> None:
    """The worker and its whole pool die at once, each child at another point."""
    runs = {point: sites.start_invoices() for point in points}
    for point, run in runs.items():
        site.arm(run, point)
    held(site, runs)
    site.kill("worker")
    site.open()
    site.start("worker")
    assert sites.finished(site, list(runs.values()), within=60) == {"succeeded": len(runs)}
    proven(site, list(runs.values()))


def test_an_effect_that_nobody_can_ask_about_is_asked_of_people(site: Site) -> None:
    """One line was sent before the kill and one was not: both are asked, neither is guessed."""
    runs = {point: sites.start_wire() for point in ("wire.before", "wire.after")}
    for point, run in runs.items():
        site.arm(run, point)
    held(site, runs)
    sent = runs["wire.after"].input["text"]
    site.kill("worker")
    assert sent in site.lines()
    site.open()
    site.start("worker")
    asked = models.Review.objects.filter(run__in=runs.values(), kind="in_doubt", status="open")
    waiting.until(lambda: asked.count() == 2, within=30, what="both are asked")
    assert sites.finished(site, list(runs.values()), within=60) == {"succeeded": 2}
    proven(site, list(runs.values()))


def test_3_7_a_worker_that_is_told_to_stop_waits_for_its_effect_and_for_nothing_else(site: Site) -> None:
    """A deploy: what is on its way to the world is awaited to its deadline; reads are dropped, and nothing begins.

    One effect comes to its end and is stored, one never does and is asked about.
    """
    slow = site.folder.root / "slow"
    slow.touch()
    ends, hangs, reads = sites.start_wire(), sites.start_wire(), sites.start_wire("read")
    for run in (ends, hangs):
        site.arm(run, "wire.before")
    held(site, {"wire.before": ends})
    waiting.until(lambda: site.waits_at(hangs, "wire.before") and site.reads(reads), within=20)
    told = time.monotonic()
    worker = site.running.pop("worker")[0]
    worker.send_signal(signal.SIGTERM)
    new = sites.start_wire("read")
    clock = site.running.pop("clock")[0]  # else it would take up what no worker does
    clock.send_signal(signal.SIGTERM)
    waiting.until(lambda: sites.fresh([reads])[0].reason == "shutdown", within=5, what="the read is dropped")
    assert worker.poll() is None  # it waits for the effects
    gates.reached(site.gates, ends.pk, "wire.before").unlink()
    worker.wait(10)  # the other effect has its deadline 3 s after it began
    clock.wait(10)
    assert time.monotonic() - told < 10
    done, lost, dropped, untouched = sites.fresh([ends, hangs, reads, new])
    assert models.Action.objects.get(run=done).status == "succeeded"
    assert (done.status, done.reason, done.lease_until) == (
        "queued",
        "shutdown",
        None,
    )  # no move after its receipt
    assert (dropped.status, dropped.attempts, untouched.fence) == ("queued", 0, 0)
    assert models.Action.objects.get(run=lost).status == "intent"
    site.open()
    slow.unlink()
    site.start("worker", "clock")
    runs = [ends, hangs, reads, new]
    assert sites.finished(site, runs, within=60) == {"succeeded": len(runs)}
    proven(site, runs)


def test_valkey_may_vanish_pause_and_come_back_empty(site: Site) -> None:
    """Work goes on without it, and through it again when it is back."""
    runs = [sites.start_invoices()]
    waiting.until(lambda: models.Review.objects.filter(run=runs[0], status="open").exists(), within=20)
    site.kill("valkey")
    assert sites.finished(site, runs, within=40) == {"succeeded": 1}
    site.start("valkey")
    runs.append(sites.start_invoices())
    assert sites.finished(site, runs, within=40) == {"succeeded": 2}
    site.signal("valkey", signal.SIGSTOP)
    runs.append(sites.start_invoices())
    assert sites.finished(site, runs, within=40) == {"succeeded": 3}
    site.signal("valkey", signal.SIGCONT)
    runs.append(sites.start_invoices())
    assert sites.finished(site, runs, within=40) == {"succeeded": 4}
    proven(site, runs)


def test_postgresql_may_stop_at_once_in_the_middle_of_anything(site: Site) -> None:
    """An immediate stop, as in a crash, while workers stand before and after what they do."""
    points = ("reply.before", "intent.before", "intent.after", "mail.after", "fee.after")
    runs = {point: sites.start_invoices() for point in points}
    for point, run in runs.items():
        site.arm(run, point)
    held(site, runs)
    sites.reconnect()
    site.kill("postgres", signal.SIGQUIT)
    site.open()  # they go on, and find no database
    site.start("postgres")
    assert sites.finished(site, list(runs.values()), within=60) == {"succeeded": len(runs)}
    proven(site, list(runs.values()))


def test_1_13_a_backup_made_while_workers_work_is_restored_and_nothing_is_done_twice(
    site: Site, client: Client, tmp_path: Path
) -> None:
    """What was approved, under way or asked at the backup was done after it; restored, it is looked up or asked."""
    points = ("intent.before", "mail.before")
    runs = {point: sites.start_invoices() for point in points}
    for point, run in runs.items():
        site.arm(run, point)
    held(site, runs)
    lines = [sites.start_wire()]
    site.arm(lines[0], "intent.before")
    held(site, {"intent.before": lines[0]})
    lines.append(sites.start_wire())
    waiting.until(lambda: models.Review.objects.filter(run=lines[1], status="open").exists(), within=20)
    everything = [*runs.values(), *lines]
    before = site.letters(), site.fees(), site.lines()
    file = tmp_path / "backup"
    code, said = site.manage("backup", str(file))
    assert code == 0, said
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    site.open()
    assert sites.finished(site, everything, within=60) == {"succeeded": len(everything)}
    proven(site, everything)
    world = site.letters(), site.fees(), site.lines()
    assert all(len(after) > len(then) for after, then in zip(world[1:], before[1:], strict=True))
    for name in ("worker", "clock"):
        site.kill(name)
    with restored(site), here(site):
        code, said = site.manage("restore", str(file))
        assert code == 0, said
        assert site.manage("drain")[0] == 0  # whatever is due is taken up
        assert (site.letters(), site.fees(), site.lines()) == world
        client.force_login(models.User.objects.get(username="reviewer"), settings.AUTHENTICATION_BACKENDS[0])
        assert "It was restored from the backup" in client.get("/inbox/").content.decode()
        call_command("release_restored", by="admin", reason="the old one is off")
        site.start("worker", "clock")
        assert sites.finished(site, everything, within=90) == {"succeeded": len(everything)}
        assert (site.letters(), site.fees(), site.lines()) == world
        asked = models.Review.objects.filter(kind="in_doubt", run__in=lines)
        assert asked.count() == len(lines)  # nobody can ask the wire, so people were
        verifier.verify()
        for name in ("worker", "clock"):
            site.kill(name)


@contextlib.contextmanager
def restored(site: Site) -> Iterator[None]:
    """An empty database in the same server, which the site works on meanwhile."""
    first = site.database_url
    site.database_url = first.replace("/ckptsite?", "/restored?")
    try:
        postgres.make_database(site.database_url)
        yield
    finally:
        with postgres.connect(first) as server:
            server.autocommit = True
            server.execute("DROP DATABASE IF EXISTS restored WITH (FORCE)")
        site.database_url = first
