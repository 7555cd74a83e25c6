"""Keeps a few programs running, restarts the one that dies, and stops them in order."""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Awaitable, Callable

from ckptsite.services import folder as folders
from ckptsite.services import processes

FIRST_DELAY = 0.3
LONGEST_DELAY = 10.0
_STEADY = 30.0  # a child that lived this long starts again without delay


@dataclasses.dataclass(kw_only=True)
class Child:
    """A program and the process that runs it at the moment."""

    program: processes.Program
    process: asyncio.subprocess.Process | None = None
    task: asyncio.Task[None] | None = None
    deaths: int = 0
    sessions: set[int] = dataclasses.field(default_factory=set)


class Supervisor:
    """One data folder's children."""

    def __init__(self, *, folder: folders.Folder, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._say = say
        self._children: dict[str, Child] = {}
        self.stopping = asyncio.Event()
        self.killing = asyncio.Event()

    async def start(self, program: processes.Program) -> None:
        """Start `program` and keep it running until `stop`."""
        child = Child(program=program)
        self._children[program.name] = child
        await self._spawn(child)
        child.task = asyncio.create_task(self._keep(child))

    def pid(self, name: str) -> int | None:
        """The process number of a child that runs."""
        child = self._children.get(name)
        return child.process.pid if child is not None and child.process is not None else None

    def deaths(self, name: str) -> int:
        """How often a child ended without being told to."""
        return self._children[name].deaths if name in self._children else 0

    async def _spawn(self, child: Child) -> None:
        program = child.program
        with processes.open_log(program.log) as log:
            command, *arguments = program.command
            process = await asyncio.create_subprocess_exec(
                command, *arguments, stdout=log, stderr=log, **program.arguments()
            )
        child.process = process
        child.sessions = {pid for pid in child.sessions if processes.session_lives(pid)} | {process.pid}
        processes.note(self._folder, program.name, process.pid)

    async def _keep(self, child: Child) -> None:
        delay = FIRST_DELAY
        name = child.program.name
        while child.process is not None:
            began = time.monotonic()
            code = await child.process.wait()
            if self.stopping.is_set():
                return
            child.deaths += 1
            delay = FIRST_DELAY if time.monotonic() - began > _STEADY else min(delay * 2, LONGEST_DELAY)
            self._say(
                f"{name} ended ({_ending(code)}), starting it again in {delay:.1f} s; see {child.program.log}"
            )
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), delay)
            if self.stopping.is_set():
                return
            if name == "postgres":
                # Its backends outlive a killed server for a while, and a new one refuses to start beside them.
                processes.end_session(child.process.pid)
            try:
                await self._spawn(child)
            except OSError as error:
                self._say(f"{name} can't be started: {error}")

    async def stop(
        self, *names: str, patience: Callable[[], Awaitable[bool]] | None = None, within: float
    ) -> None:
        """End the named children gently and together; returns when no process of theirs is left.

        After `within` seconds they are killed, unless `patience` says to wait on. `killing` cuts all waits.
        """
        self.stopping.set()
        children = [self._children[name] for name in names if name in self._children]
        for child in children:
            if child.process is not None and child.process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    child.process.send_signal(child.program.stop_signal)
        end = time.monotonic() + within
        while any(_lives(child) for child in children) and not self.killing.is_set():
            if time.monotonic() > end and not (patience is not None and await patience()):
                break
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.killing.wait(), 0.05)
        for child in children:
            for pid in child.sessions:
                processes.end_session(pid)
            if child.process is not None:
                await child.process.wait()
            if child.task is not None:
                await child.task
            processes.forget(self._folder, child.program.name)


def _lives(child: Child) -> bool:
    return any(processes.session_lives(pid) for pid in child.sessions)


def _ending(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"code {code}"
