"""The embedded PostgreSQL by itself."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckptsite import env
from ckptsite.services import folder as folders
from ckptsite.services import postgres, processes
from tests import servers, waiting

ROOT = os.geteuid() == 0


@contextlib.contextmanager
def running(folder: folders.Folder) -> Iterator[subprocess.Popen[bytes]]:
    """The server on this folder, answering."""
    program = postgres.program(folder, say=lambda _: None, settings=postgres.FORGETFUL)
    process = processes.start(program)
    try:
        waiting.until(lambda: postgres.answers(folder.database_url) or process.poll() is not None, within=20)
        assert process.poll() is None, program.log.read_text()
        yield process
    finally:
        processes.stop(process, program, within=10)


def test_a_stale_lock_with_the_number_of_another_process_does_not_matter(tmp_path: Path) -> None:
    folder = folders.Folder(tmp_path / "data")
    folders.make(folder)
    with running(folder) as process:
        assert postgres.make_database(folder.database_url)
        assert not postgres.make_database(folder.database_url)
        lock = (folder.postgres / "postmaster.pid").read_text()
        process.kill()
        process.wait()
    (folder.postgres / "postmaster.pid").write_text(lock.replace(str(process.pid), str(os.getpid()), 1))
    with running(folder):
        assert postgres.require(folder.database_url).startswith("1")


def test_a_postgres_started_by_hand_is_left_alone(tmp_path: Path) -> None:
    folder = folders.Folder(tmp_path / "data")
    folders.make(folder)
    with running(folder), pytest.raises(env.EnvError, match=r"Another PostgreSQL .* already works on"):
        postgres.program(folder, say=lambda _: None)


@pytest.mark.skipif(not ROOT, reason="only root can act as two users")
def test_other_users_of_the_machine_are_refused() -> None:
    folder = folders.Folder(Path(os.environ[servers.DATA]))
    probe = "import psycopg, sys; psycopg.connect(host=sys.argv[1], user='ckptsite', dbname='postgres')"
    found = subprocess.run(
        ["setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups",
         "--inh-caps=+dac_read_search,+dac_override", "--ambient-caps=+dac_read_search,+dac_override",
         sys.executable, "-c", probe, str(folder.run)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 1
    assert 'Peer authentication failed for user "ckptsite"' in found.stderr


def test_a_version_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "OLDEST", 99)
    url = os.environ["DATABASE_URL"].replace("/ckptsite?", "/postgres?")
    with pytest.raises(env.EnvError, match=r"PostgreSQL \d+ is too old; ckptsite needs version 99 or newer."):
        postgres.require(url)
