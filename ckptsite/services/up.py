"""`manage.py up`: everything in one foreground process, from an empty folder to a page that answers."""

import argparse
import asyncio
import contextlib
import http.client
import os
import re
import signal
import socket
import sys
import time
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

from ckptsite import addresses, env, prepare
from ckptsite.services import children, effects, leftovers, lock, postgres, processes, supervisor, valkey
from ckptsite.services import folder as folders

READY_WITHIN = 60.0
_STARTS = 3  # a child that died this often before anything answered will not come up


def main(arguments: Sequence[str]) -> int:
    """Run until told to stop. 0 after an orderly stop, 1 with one sentence when it can't start."""
    options = _parser().parse_args(arguments)
    os.umask(0o077)
    try:
        return asyncio.run(_run(options))
    except env.EnvError as error:
        print(f"Error: {error}", file=sys.stderr, flush=True)
        return 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `up`, for our own parser and for Django's."""
    parser.add_argument(
        "--demo", action="store_true", help="fill in accounts and three runs to try things with"
    )
    parser.add_argument(
        "--port", type=int, default=8000, metavar="N", help="port of the pages (default 8000)"
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="the data folder (default .ckptsite)")
    parser.add_argument("--no-browser", action="store_true", help="don't open a browser")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="manage.py up",
        description="Start PostgreSQL, Valkey, worker, clock and the pages; stop them with Ctrl-C.",
    )
    add_arguments(parser)
    return parser


def say(line: str) -> None:
    """One line of progress."""
    print(line, flush=True)


async def _run(options: argparse.Namespace) -> int:
    given = options.data or Path(env.text("CKPTSITE_DATA", str(children.BASE_DIR / ".ckptsite")))
    folder = folders.Folder(given.expanduser().absolute())
    try:
        folders.make(folder)
        holder = contextlib.ExitStack()
        holder.enter_context(lock.own(folder.lock))
    except lock.Held as error:
        raise env.EnvError(
            f"ckptsite already runs on the data folder {str(folder.root)!r} (process {error.pid}); "
            "stop it first, or choose another folder with --data."
        ) from None
    except OSError as error:
        raise env.EnvError(
            f"The data folder {str(folder.root)!r} can't be written: {error.strerror}."
        ) from error
    with holder, _listen(options.port) as listener:
        folder.port.write_text(str(listener.getsockname()[1]), encoding="ascii")
        up = Up(options=options, folder=folder, listener=listener)
        return await up.run()


def _listen(port: int) -> socket.socket:
    """Bound here and handed on, so that it is refused at once when taken and kept while the pages restart."""
    try:
        return socket.create_server(("127.0.0.1", port), backlog=128)
    except (OSError, OverflowError) as error:
        raise env.EnvError(f"Port {port} can't be used ({error}); choose another one with --port.") from error


class Up:
    """One start, life and stop."""

    def __init__(
        self, *, options: argparse.Namespace, folder: folders.Folder, listener: socket.socket
    ) -> None:
        self.options = options
        self.folder = folder
        self.listener = listener
        self.port = int(listener.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}/"
        self.database_url = env.text("DATABASE_URL") or folder.database_url
        self.redis_url = env.text("REDIS_URL") or folder.redis_url
        addresses.database(self.database_url)
        addresses.redis(self.redis_url)
        self.setting = children.Setting(
            folder=folder,
            database_url=self.database_url,
            redis_url=self.redis_url,
            port=self.port,
            listener=listener.fileno(),
        )
        self.supervisor = supervisor.Supervisor(folder=folder, say=say)
        self.quit = asyncio.Event()
        self._waits_until: object = None

    async def run(self) -> int:
        """0 after a signal; raises EnvError when the start fails. Either way nothing is left running."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_signal)
        starting = asyncio.create_task(self._start())
        leaving = asyncio.create_task(self.quit.wait())
        try:
            await asyncio.wait({starting, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not starting.done():
                starting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await starting
            await leaving
        finally:
            leaving.cancel()
            await self._stop()
        return 0

    def _on_signal(self) -> None:
        if self.quit.is_set():
            say("Killing what is left")
            self.supervisor.killing.set()
        else:
            say("Stopping")
        self.quit.set()

    async def _start(self) -> None:
        say(f"Data folder {self.folder.root}")
        await asyncio.to_thread(leftovers.clear, self.folder, database_url=self.database_url, say=say)
        self.folder.worker_ready.unlink(missing_ok=True)
        if env.text("REDIS_URL"):
            await asyncio.to_thread(valkey.require, self.redis_url)
        else:
            await self.supervisor.start(valkey.program(self.folder))
        await self._start_database()
        said = await self._prepare()
        await self._until_ready()
        for line in said:
            say(line if self.options.demo else f"Set up the first administrator (works for 24 hours): {line}")
        say(f"Ready: {self.address}")
        if not self.options.no_browser and _has_screen():
            await asyncio.to_thread(webbrowser.open, self.address)

    async def _start_database(self) -> None:
        if not env.text("DATABASE_URL"):
            server = await asyncio.to_thread(postgres.program, self.folder, say=say)
            await self.supervisor.start(server)
            await self._until(lambda: postgres.answers(self.database_url), "postgres", within=READY_WITHIN)
            await asyncio.to_thread(postgres.make_database, self.database_url)
        say(f"PostgreSQL {await asyncio.to_thread(postgres.require, self.database_url)} is ready")

    async def _prepare(self) -> list[str]:
        """Tables, static files, and accounts or a set-up link; each child starts as soon as it can work.

        Gives back what a person should read. Refuses with the last line of what went wrong.
        """
        log = self.folder.logs / "prepare.log"
        command, environment = children.prepare(self.setting, demo=self.options.demo)
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                env=environment,
                cwd=children.BASE_DIR,
                start_new_session=True,
            )
        said: list[str] = []
        try:
            assert process.stdout is not None
            async for raw in process.stdout:
                line = raw.decode(errors="replace").rstrip("\n")
                if line == prepare.TABLES:
                    say("Tables are up to date")
                    await self.supervisor.start(children.worker(self.setting))
                    await self.supervisor.start(children.clock(self.setting))
                elif line == prepare.STATIC:
                    say("Static files are up to date")
                    await self.supervisor.start(children.web(self.setting))
                else:
                    said.append(line)
            code = await process.wait()
        finally:
            if process.returncode is None:
                processes.end_session(process.pid)
                await process.wait()
        if code != 0:
            raise env.EnvError(f"The start failed: {_last_line(log)} (see {log})")
        return said

    async def _until_ready(self) -> None:
        await self._until(lambda: _page_answers(self.port), "web", within=READY_WITHIN)
        await self._until(self.folder.worker_ready.exists, "worker", within=READY_WITHIN)

    async def _until(self, check: Callable[[], bool], name: str, *, within: float) -> None:
        end = time.monotonic() + within
        while not await asyncio.to_thread(check):
            if self.supervisor.deaths(name) >= _STARTS or time.monotonic() > end:
                log = self.folder.logs / f"{name}.log"
                raise env.EnvError(f"{name} does not come up: {_last_line(log)} (see {log})")
            await asyncio.sleep(0.05)

    async def _stop(self) -> None:
        await self.supervisor.stop("web", "worker", "clock", patience=self._patience, within=6.0)
        await self.supervisor.stop("valkey", within=2.0)
        await self.supervisor.stop("postgres", within=5.0)
        if self.quit.is_set():
            say("Stopped")

    async def _patience(self) -> bool:
        """Wait on for a worker inside an effect: killing it would leave the outcome unknown."""
        busy = await asyncio.to_thread(effects.under_way, self.database_url)
        if busy is None:
            return False
        if busy.until != self._waits_until:
            self._waits_until = busy.until
            local = busy.until.astimezone()
            say(
                f"Waiting for {busy.count} effect(s) under way, until {local:%H:%M:%S} at the latest; "
                "another Ctrl-C kills"
            )
        return True


def _page_answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _last_line(log: Path) -> str:
    with contextlib.suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        # The sentence alone: the name of an exception says nothing to who reads this.
        return re.sub(r"^[\w.]+(Error|Exception): ", "", lines[-1])[:300] if lines else "it said nothing"
    return "it said nothing"


def _has_screen() -> bool:
    return sys.stdout.isatty() and (
        sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    )
