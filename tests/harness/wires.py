"""Hosts as namespaces of the kernel: each has a network and a name of its own, and one wire to where the servers are.

All of it stands inside one network that this process has entered for itself (`enter`), so that nothing of the machine
is touched, and nothing is left however the process ends: the kernel takes networks and wires away with the last
process in them, and the processes end with this one.
"""

from __future__ import annotations

import asyncio
import functools
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from ckptsite.services import processes

INSIDE = "CKPTSITE_HARNESS_APART"
MISSING = "A network of one's own needs root, or `unshare --user --net` allowed to users; here neither works."
_ROOT, _USER = ("unshare", "--net"), ("unshare", "--user", "--map-current-user", "--keep-caps", "--net")


class Missing(Exception):
    """This machine lets nobody make a network; the message is one sentence."""


def enter(module: str, arguments: Sequence[str]) -> None:
    """Run the module again in a network of its own, in this process; refuse (Missing) where that can't be."""
    command = able()
    environment = {**os.environ, INSIDE: "yes"}
    again = [*command, sys.executable, "-m", module, *arguments]
    os.execvpe(again[0], again, environment)  # noqa: S606 - a command line of our own


def able() -> tuple[str, ...]:
    """Return the command that makes a network; refuse (Missing) where there is none."""
    for command in (_ROOT, _USER) if os.geteuid() == 0 else (_USER,):
        probe = "ip link set lo up && ip link add probe type veth peer name eborp && unshare --net --uts true"
        try:
            done = subprocess.run([*command, "sh", "-c", probe], capture_output=True, check=False, timeout=20)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return command
    raise Missing(MISSING)


class Host:
    """One host: a network in which nothing runs yet, with a wire to this one."""

    def __init__(self, number: int, log: Path) -> None:
        """Make it; its name and addresses follow from the number."""
        self.name, self.here, self.there = f"host-{number}", f"10.99.{number}.1", f"10.99.{number}.2"
        self._wire = f"wire-{number}"
        make = f"hostname {self.name} && ip link set lo up && touch {log}.made && exec sleep infinity"
        self._program = processes.Program(
            name=self.name,
            command=("unshare", "--net", "--uts", "sh", "-c", make),
            environment=dict(os.environ),
            log=log,
        )
        self._holder = processes.start(self._program)
        self._spaces = Path(f"/proc/{self._holder.pid}/ns")
        while not Path(f"{log}.made").exists():
            if self._holder.poll() is not None:
                raise Missing(MISSING)
        _ip(
            "link",
            "add",
            self._wire,
            "type",
            "veth",
            "peer",
            "name",
            "uplink",
            "netns",
            str(self._holder.pid),
        )
        _ip("addr", "add", f"{self.here}/24", "dev", self._wire)
        self.plug()
        within = [*self.within(), "ip"]
        subprocess.run([*within, "addr", "add", f"{self.there}/24", "dev", "uplink"], check=True)
        subprocess.run([*within, "link", "set", "uplink", "up"], check=True)

    def within(self) -> tuple[str, ...]:
        """Return what a command line begins with, for it to run on this host."""
        return ("nsenter", f"--net={self._spaces / 'net'}", f"--uts={self._spaces / 'uts'}")

    def runs(self, pid: int) -> bool:
        """Return whether this process is on this host."""
        return os.readlink(f"/proc/{pid}/ns/net") == os.readlink(self._spaces / "net")

    def cut(self) -> None:
        """Cut the wire; whatever is sent is lost, and nobody is told."""
        _ip("link", "set", self._wire, "down")

    def plug(self) -> None:
        """Let the wire carry again."""
        _ip("link", "set", self._wire, "up")

    def end(self) -> None:
        """Take it away."""
        processes.stop(self._holder, self._program, within=5)


class Relay:
    """Servers that answer on sockets of this machine, answering on ports of every wire as well."""

    def __init__(self, sockets: Mapping[int, str]) -> None:
        """Relay each port to the socket at this path."""
        self._sockets = sockets
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()
        self._ready.wait(10)

    def _run(self) -> None:
        self._loop.run_until_complete(self._listen())
        self._ready.set()
        self._loop.run_forever()

    async def _listen(self) -> None:
        for port, path in self._sockets.items():
            await asyncio.start_server(functools.partial(_both, path), "0.0.0.0", port)  # noqa: S104 - every wire


async def _both(path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        inner_reader, inner_writer = await asyncio.open_unix_connection(path)
    except OSError:
        writer.close()
        return
    await asyncio.gather(_one(reader, inner_writer), _one(inner_reader, writer))


async def _one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
