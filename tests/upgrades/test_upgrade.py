"""Runs that wait, recorded under an earlier release, are migrated and go on to their right ends."""

from __future__ import annotations

import contextlib
import lzma
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest import mock
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections
from django.test import Client, override_settings

from ckptsite.services import binaries, postgres
from runs import models
from runs.engine import origin, verifier
from runs.transitions import holds
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go
from tests.engine.world import World
from tests.upgrades import recording

RECORDED = Path(__file__).parent / "of_0032"
GIVEN = {
    "action": ("approve", {}),
    "plan": ("approve", {}),
    "question": ("answer", {"value": "3"}),
    "in_doubt": ("happened", {"receipt": "It is in the sent folder."}),
}


@pytest.mark.django_db(transaction=True)
def test_runs_of_an_earlier_release_go_on_after_the_migrations(client: Client) -> None:
    """Held, approved, under way, in doubt, asked, planned, paused, begun and done; nothing of it is done twice."""
    World.path.write_text((RECORDED / "world.jsonl").read_text())
    with _of_then(), override_settings(**recording.KEYS):
        call_command("migrate", verbosity=0)
        models.Installation.objects.update(
            system=str(origin.read())
        )  # it was moved here, not upgraded in its place
        verifier.verify()
        people = {user.username: user for user in models.User.objects.all()}
        client.force_login(people["rita"], settings.AUTHENTICATION_BACKENDS[0])
        for address in _pages():
            assert client.get(address).status_code == 200, address
        holds.resume(models.Run.objects.get(hold_by__isnull=False).pk, by=Actor(user=people["olga"]))
        _to_the_end(people["rita"])
        ended = Counter(models.Run.objects.values_list("status", flat=True))
        assert ended == {"succeeded": models.Run.objects.count()}
        done = Counter(line["name"] for line in World.effects())
        letters = [
            "done",
            "held",
            "approved",
            "under way",
            "doubted",
            "after it",
            "asked",
            "planned",
            "paused",
        ]
        assert done == dict.fromkeys([*letters, "begun", "draft"], 1)
        verifier.verify()
        for address in _pages():
            assert client.get(address).status_code == 200, address


def _to_the_end(reviewer: models.User) -> None:
    """Answer every question, and let every run go on, until nothing is open."""
    for _ in range(6):
        for review in models.Review.objects.filter(status="open"):
            verdict, more = GIVEN[review.kind]
            answer(review, reviewer, verdict, token=f"now {review.pk} {review.revision}", **more)
        for run in models.Run.objects.filter(status__in=("queued", "running")):
            go(run)


def _pages() -> list[str]:
    runs = models.Run.objects.values_list("pk", flat=True)
    return ["/inbox/", "/runs/", *(f"/runs/{pk}/" for pk in runs)]


@contextlib.contextmanager
def _of_then() -> Iterator[None]:
    """A database as it was recorded, to which this process is connected meanwhile."""
    server = os.environ["DATABASE_URL"]
    name = f"{connection.settings_dict['NAME']}_of_then"
    url = urlsplit(server)._replace(path=f"/{name}").geturl()
    postgres.make_database(url)
    psql = [str(binaries.postgres() / "psql"), f"--dbname={url}", "--quiet", "--set=ON_ERROR_STOP=1"]
    try:
        rows = lzma.decompress((RECORDED / "rows.sql.xz").read_bytes())
        subprocess.run([*psql, "--no-psqlrc", "--output=/dev/null"], input=rows, check=True)
        connections.close_all()
        with mock.patch.dict(connection.settings_dict, {"NAME": name}):
            yield
            connections.close_all()
    finally:
        connections.close_all()
        with postgres.connect(server, dbname="postgres") as owner:
            owner.autocommit = True
            owner.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
