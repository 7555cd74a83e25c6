"""Hints are never in the way: a paused or dead Valkey costs one of them half a second, the next ones nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ckptsite.services import folder as folders
from ckptsite.services import processes, valkey
from tests import waiting

pytestmark = pytest.mark.seconds
ONE = 900.0  # milliseconds: the time-out of half a second and what a busy machine adds
NOTHING = 50.0


class Sender:
    """A process that sends hints on demand."""

    def __init__(self, redis_url: str) -> None:
        database = urlsplit(os.environ["DATABASE_URL"])._replace(path="/postgres")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.core.hinting"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            env={**os.environ, "REDIS_URL": redis_url, "DATABASE_URL": database.geturl(),
                 "DJANGO_SETTINGS_MODULE": "ckptsite.settings",
                 "LOG_LEVEL": "ERROR"},
        )  # fmt: skip

    def send(self, what: str) -> tuple[float, bool]:
        """Return the milliseconds that the hint took, and whether it was taken."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what}\n")
        took, taken = self.process.stdout.readline().split()
        return float(took), taken == "1"

    def stop(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(10)


class Broker:
    """A Valkey of this test's own."""

    def __init__(self, folder: folders.Folder) -> None:
        self.folder = folder
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.program = valkey.program(self.folder)
        self.process = processes.start(self.program)
        waiting.until(lambda: valkey.answers(self.folder))

    def stop(self) -> None:
        """Wake it if it is paused, and end it."""
        self.process.send_signal(signal.SIGCONT)
        processes.stop(self.process, self.program, within=5)


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A broker that may be paused and killed."""
    with tempfile.TemporaryDirectory(prefix="ckptsite-hints-") as name:
        folder = folders.Folder(Path(name))
        folders.make(folder)
        made = Broker(folder)
        yield made
        made.stop()


@pytest.fixture
def sender(broker: Broker) -> Iterator[Sender]:
    """A process that sends hints to that Valkey."""
    made = Sender(broker.folder.redis_url)
    yield made
    made.stop()


@pytest.mark.parametrize(
    ("before", "what"),
    [
        pytest.param(["wake"], "wake", id="a wake-up"),
        pytest.param(["wake", "changed"], "changed", id="a page hint"),
        pytest.param([], "wake", id="the first one ever"),
    ],
)
def test_a_paused_broker_costs_one_hint_half_a_second(
    broker: Broker, sender: Sender, before: list[str], what: str
) -> None:
    for each in before:
        sender.send(each)
    broker.process.send_signal(signal.SIGSTOP)
    took, taken = sender.send(what)
    assert not taken
    assert took <= ONE
    for other in ("wake", "changed", "wake", "changed"):
        again, taken = sender.send(other)
        assert not taken
        assert again <= NOTHING


def test_a_dead_broker_costs_nothing_and_hints_come_back_with_it(broker: Broker, sender: Sender) -> None:
    assert sender.send("wake")[1]
    broker.process.kill()
    broker.process.wait()
    took, taken = sender.send("wake")
    assert not taken
    assert took <= ONE
    broker.start()
    waiting.until(lambda: sender.send("wake")[1], what="a hint gets through again")
