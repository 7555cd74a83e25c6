"""What backups refuse, and that keys which aren't a database's own are found."""

import os
from pathlib import Path
from unittest import mock

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from pytest_django import Settings

from ckptsite import env
from ckptsite.services import dumps
from runs import models
from runs.transitions import audit, restores
from runs.transitions.actor import ENGINE


def test_a_backup_replaces_nothing_and_leaves_nothing_half_made(tmp_path: Path) -> None:
    file = tmp_path / "backup"
    with pytest.raises(env.EnvError, match="connection to server"):
        dumps.write("postgresql://127.0.0.1:1/x", file)
    assert list(tmp_path.iterdir()) == []
    file.write_text("an older one")
    with pytest.raises(env.EnvError, match="is there already"):
        dumps.write(os.environ["DATABASE_URL"], file)
    with pytest.raises(env.EnvError, match="can't be written: No such file"):
        dumps.write(os.environ["DATABASE_URL"], tmp_path / "no" / "folder")
    assert file.read_text() == "an older one"


def test_what_is_no_backup_is_refused_in_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "backup"
    file.write_text("no backup")
    with pytest.raises(env.EnvError, match="does not appear to be a valid archive"):
        dumps.load(os.environ["DATABASE_URL"].replace("/ckptsite?", "/postgres?"), file)


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_in_use_is_left_alone(tmp_path: Path, child_environment: dict[str, str]) -> None:
    with pytest.raises(env.EnvError, match="has tables already"):
        dumps.load(child_environment["DATABASE_URL"], tmp_path / "backup")


@pytest.mark.django_db(transaction=True)
def test_1_13_keys_that_are_not_the_own_ones_of_a_backup_are_said(tmp_path: Path, settings: Settings) -> None:
    """Else the first act here would be sealed with a key that doesn't fit, and the chain broken for good."""
    with transaction.atomic():
        audit.append("agent.moved", actor=ENGINE, subject="agent x")
    assert restores.keys_fit()
    settings.AUDIT_HMAC = b"another"
    with mock.patch.object(dumps, "load"), pytest.raises(CommandError, match="the keys here are others"):
        call_command("restore", str(tmp_path / "backup"))
    assert not models.Installation.objects.get(pk=1).restored
