"""`manage.py up` from outside: it starts, mends itself, refuses and stops."""

import os
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckptsite.services import folder as folders
from ckptsite.services import postgres, processes, valkey
from tests import waiting
from tests.services import upping

pytestmark = pytest.mark.seconds


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[upping.Site]:
    """One running site for the tests that do not end it; in the end it is killed, and the next one starts."""
    first = upping.Site(tmp_path_factory.mktemp("up") / "data").ready()
    yield first
    family = first.family()
    with postgres.connect(folders.Folder(first.data).database_url) as receipt:
        first.end(signal.SIGKILL)
        if sys.platform == "linux":  # elsewhere nothing tells the children, and the next start clears them
            web = first.pid("web")
            waiting.until(lambda: processes.started_at(web) is None, what="the pages to end")
        # Whoever is at work, as a worker in an effect would be, can still write down how it went.
        assert receipt.execute("select 1").fetchone() == (1,)
    second = upping.Site(first.data).ready()
    assert upping.alive(family) == []
    assert second.page()
    family = second.family()
    assert second.end() == 0
    assert upping.alive(family) == []


@pytest.mark.parametrize("name", ["web", "worker", "clock", "valkey", "postgres"])
def test_a_killed_child_comes_back(site: upping.Site, name: str) -> None:
    before = site.pid(name)
    ready = site.data / "worker.ready"
    if name == "worker":
        ready.unlink()
    os.kill(before, signal.SIGKILL)
    waiting.until(lambda: site.pid(name) not in {0, before}, within=45, what=f"{name} again")
    folder = folders.Folder(site.data)
    waiting.until(lambda: valkey.answers(folder) and postgres.answers(folder.database_url), within=45)
    waiting.until(site.page, within=45, what="a page")
    if name == "worker":
        waiting.until(ready.exists, within=45, what="a worker that takes messages")
    assert f"{name} ended (killed by signal 9)" in site.said


def test_a_second_up_on_the_same_data_is_refused(site: upping.Site) -> None:
    second = upping.Site(site.data)
    assert second.process.wait(20) == 1
    assert second.said.startswith("Error: ckptsite already runs on the data folder")
    assert f"process {site.process.pid}" in second.said
    assert second.said.count("\n") == 1


def test_a_taken_port_is_refused(site: upping.Site, tmp_path: Path) -> None:
    port = site.url.rstrip("/").rpartition(":")[2]
    second = upping.Site(tmp_path / "data", "--port", port)
    assert second.process.wait(20) == 1
    assert second.said.startswith(f"Error: Port {port} can't be used")
    assert second.said.count("\n") == 1


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"DATABASE_URL": "mysql://localhost/x"}, "DATABASE_URL must begin with postgresql://"),
        ({"DATABASE_URL": "postgresql://127.0.0.1:1/x"}, "DATABASE_URL does not lead to a database: "),
        ({"REDIS_URL": "http://localhost"}, "REDIS_URL must begin with redis://"),
        ({"REDIS_URL": "redis://127.0.0.1:1/0"}, "REDIS_URL does not lead to a Redis or Valkey server: "),
    ],
)
def test_a_wrong_address_is_refused_in_one_line(
    tmp_path: Path, environment: dict[str, str], sentence: str
) -> None:
    site = upping.Site(tmp_path / "data", environment=environment)
    assert site.process.wait(30) == 1
    errors = [line for line in site.said.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert errors[0].startswith(f"Error: {sentence}")
    assert "Traceback" not in site.said


def test_a_data_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    site = upping.Site(tmp_path / "file" / "data")
    assert site.process.wait(20) == 1
    assert site.said == (
        f"Error: The data folder {str(tmp_path / 'file' / 'data')!r} can't be written: Not a directory.\n"
    )


def test_an_ordinary_person_comes_from_an_empty_folder_to_ready_and_gone() -> None:
    place = Path(tempfile.mkdtemp(prefix="ckptsite-person-"))
    place.chmod(0o777)
    try:
        site = upping.Site(place / "data", prefix=upping.ORDINARY if os.geteuid() == 0 else ()).ready()
        assert site.page()
        for name in ("secret_key", "key_hmac", "audit_hmac"):
            assert stat.S_IMODE((site.data / name).stat().st_mode) == 0o600
        family = site.family()
        assert len(family) >= 5
        assert site.end(signal.SIGINT, within=10) == 0
        assert upping.alive(family) == []
        assert site.said.endswith("Stopping\nStopped\n")
    finally:
        shutil.rmtree(place, ignore_errors=True)
