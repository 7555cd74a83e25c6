"""Units for systemd: as it reads them, and a site of two web processes and two workers that runs by their lines."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.core.management import CommandError, call_command

from ckptsite.services import children
from runs.demo import setup as demo
from tests import fresh, servers, waiting
from tests.harness import site as sites

DATABASE = "units"


def written(folder: Path, **more: Any) -> dict[str, str]:
    """Return the units' texts as the command writes them."""
    folder.mkdir()
    call_command("systemd_units", str(folder), data=folder / "data", environment=folder / "env", **more)
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_systemd_reads_them(tmp_path: Path) -> None:
    found = written(tmp_path / "units", user="root", webs=3, workers=1)
    wants = (
        "ckptsite-clock.service ckptsite-web@8001.service ckptsite-web@8002.service ckptsite-web@8003.service"
    )
    assert f"Wants={wants} ckptsite-worker@1.service\n" in found["ckptsite.target"]
    with pytest.raises(CommandError, match="at least one web process"):
        call_command("systemd_units", str(tmp_path), webs=0)
    with pytest.raises(CommandError, match="can't be written"):
        call_command("systemd_units", str(tmp_path / "nowhere"))
    for path in ("relative", "/with space", "/per%cent", "/new\nline", '/quo"te'):
        with pytest.raises(CommandError, match="give a whole path"):
            call_command("systemd_units", str(tmp_path), data=path)
        with pytest.raises(CommandError, match="give a whole path"):
            call_command("systemd_units", str(tmp_path), environment=path)
    with pytest.raises(CommandError, match="no name of an account"):
        call_command("systemd_units", str(tmp_path), user="a b")
    assert not list(tmp_path.glob("*.service"))
    if shutil.which("systemd-analyze"):
        for name in ("ckptsite-web@", "ckptsite-worker@"):  # an instance, as the target wants it
            (tmp_path / "units" / f"{name}8001.service").write_text(found[f"{name}.service"])
        paths = sorted(path for path in (tmp_path / "units").iterdir() if "@." not in path.name)
        checked = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", *map(str, paths)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert [line for line in checked.stderr.splitlines() if "ckptsite" in line] == []


class Machine:
    """Starts what the units say, as systemd would, on a database of its own."""

    def __init__(self, folder: Path) -> None:
        self.texts = written(folder, webs=2, workers=2)
        (folder / "data").mkdir()
        at = urlsplit(os.environ["DATABASE_URL"])
        self.database = at._replace(path=f"/{DATABASE}").geturl()
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("CKPTSITE_")},
            "DATABASE_URL": self.database,
            "REDIS_URL": os.environ["REDIS_URL"].split("?")[0] + "?db=7",
            "LOG_LEVEL": "INFO",
            "CKPTSITE_ALLOW_ASYNC_COMMIT": "yes",  # the tests' server forgets on purpose
        }
        self.log = (folder / "log").open("ab")

    def start(self, unit: str, instance: str = "") -> subprocess.Popen[bytes]:
        """Start the process of this unit."""
        lines = [line.partition("=") for line in self.texts[f"{unit}.service"].splitlines()]
        given = dict(value.split("=", 1) for name, _, value in lines if name == "Environment")
        (command,) = (value for name, _, value in lines if name == "ExecStart")
        told = shlex.split(command.replace("%i", instance).replace("%%", "%"))
        return subprocess.Popen(
            told,
            env={**self.environment, **given},
            cwd=children.BASE_DIR,
            stdout=subprocess.DEVNULL,
            stderr=self.log,
        )

    def lines(self) -> list[dict[str, Any]]:
        """Return what all of them have logged: each line is JSON."""
        return [json.loads(line) for line in Path(self.log.name).read_text().splitlines()]

    def manage(self, *arguments: str) -> None:
        """Run a command on this database."""
        command = [sys.executable, "manage.py", *arguments]
        subprocess.run(command, env=self.environment, cwd=children.BASE_DIR, check=True, capture_output=True)

    def open(self) -> int:
        """Return how many runs still have something to do."""
        with psycopg.connect(self.database) as own:
            found = own.execute(
                "SELECT count(*) FROM runs_run WHERE status IN ('queued', 'running')"
            ).fetchone()
        assert found is not None
        return int(found[0])


def ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return int(answer.status) == 200
    except OSError:  # nobody is there yet, or it isn't ready
        return False


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in found]


@pytest.fixture
def machine(tmp_path: Path, transactional_db: None) -> Iterator[Machine]:
    sites._copy(fresh.template(Path(os.environ[servers.DATA])), DATABASE)
    made = Machine(tmp_path / "units")
    yield made
    made.log.close()
    sites._drop(DATABASE)


@pytest.mark.seconds
@pytest.mark.django_db(transaction=True)
def test_two_web_processes_and_two_workers_go_on_without_one_of_each(machine: Machine) -> None:
    """Both serve, both work; each may be killed, and what is left does all of it."""
    assert machine.start("ckptsite-prepare").wait(60) == 0
    machine.manage("demo_setup")
    first, second = ports = free_ports(2)
    running = [machine.start("ckptsite-clock")]
    webs = [machine.start("ckptsite-web@", str(port)) for port in ports]
    workers = [machine.start("ckptsite-worker@", name) for name in ("1", "2")]
    running += [*webs, *workers]
    try:
        waiting.until(lambda: ready(first) and ready(second), within=60, what="both to be ready")
        waiting.until(lambda: not machine.open(), within=60, what="the demo's runs to ask or end")
        webs[0].kill()
        workers[0].kill()
        machine.manage("start_run", "receivables", "--input", str(demo.FOLDER / "north.csv"))
        waiting.until(lambda: not machine.open(), within=60, what="one more to ask")
        assert ready(second)
        for process in running:
            process.send_signal(signal.SIGTERM)
        assert [process.wait(60) for process in (running[0], workers[1])] == [0, 0]
        lines = machine.lines()
        assert {"web", "worker"} <= {line["role"] for line in lines}
        said = json.dumps(lines)
        for row in csv.DictReader((demo.FOLDER / "north.csv").read_text().splitlines()):
            assert row["customer"] not in said
    finally:
        for process in running:
            process.kill()
            process.wait()
