"""Records what an earlier release leaves behind: runs in every kind of wait, as rows of that time.

Done once for a release, with its own code: check it out, put this folder into its `tests/`, let its pytest run this
file by name, and take the folder `recorded` back under the name of its newest migration. It uses what releases share.
"""

from __future__ import annotations

import lzma
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings

from ckptsite.services import binaries
from runs import models
from runs.engine import verifier
from runs.transitions import holds
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import crash
from tests.engine.world import World

KEYS = {"KEY_HMAC": b"the effect keys of a recording", "AUDIT_HMAC": b"the audit key of a recording"}
CENTURY = 100 * 365 * 86_400.0
"""Questions of a recording stay open: it is read years later."""
QUESTION = {
    "id": "days",
    "title": "Ask how long",
    "ask": {"question": "How many days more?", "schema": {"type": "integer", "minimum": 1}},
}


@pytest.mark.django_db(transaction=True)
def test_recorded(start: Callable[..., models.Run], reviewer: models.User, operator: models.User) -> None:
    """The letter of each run is named after what it waits for."""
    named = {**settings.CKPTSITE, "REVIEW_EXPIRES": CENTURY}
    with override_settings(**KEYS, CKPTSITE=named):
        done = go(start(step("look", "it"), step("lookup", "done")))
        answer(only_review(done), reviewer, "approve")
        go(done)
        go(start(step("look", "it"), step("lookup", "held"), step("allowed", "draft")))
        approved = go(start(step("lookup", "approved")))
        answer(only_review(approved), reviewer, "approve")
        under_way = go(start(step("lookup", "under way")))
        answer(only_review(under_way), reviewer, "approve")
        crash(under_way)
        doubted = go(start(step("unprotected", "doubted"), step("idempotent", "after it")))
        answer(only_review(doubted), reviewer, "approve")
        crash(doubted)
        go(doubted)
        go(start(QUESTION, step("lookup", "asked")))
        go(start(step("lookup", "planned"), approve_plan=True))
        paused = go(start(step("lookup", "paused")))
        holds.pause(paused.pk, reason="not today", by=Actor(user=operator))
        start(step("lookup", "begun"))
        verifier.verify()
        _keep(Path(__file__).parent / "recorded")


def _keep(place: Path) -> None:
    place.mkdir()
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    options = ("--no-owner", "--no-privileges", "--exclude-schema=kept")
    command = [str(binaries.postgres() / "pg_dump"), f"--dbname={url}", *options]
    rows = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    (place / "rows.sql.xz").write_bytes(lzma.compress(rows, preset=9 | lzma.PRESET_EXTREME))
    shutil.copy(World.path, place / "world.jsonl")
