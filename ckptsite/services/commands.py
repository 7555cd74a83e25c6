"""Management commands and the PostgreSQL they need: that of a running `up`, or one for the command's life."""

import contextlib
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from ckptsite import env
from ckptsite.services import children, leftovers, lock, postgres, processes, up
from ckptsite.services import folder as folders

_NO_DATABASE = frozenset(
    {"check", "collectstatic", "compilemessages", "diffsettings", "findstatic", "help", "makemessages",
     "makemigrations", "test", "version"}
)  # fmt: skip
_BRINGS_TABLES = "restore"
_START_WITHIN = 30.0


def main(argv: Sequence[str]) -> int:
    """Run one management command; its exit code. What can't be used: one sentence and exit code 1."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ckptsite.settings")
    arguments = [argument for argument in argv[1:] if argument != "--no-services"]
    command = arguments[0] if arguments else "help"
    if command == "up":
        return up.main(arguments[1:])
    try:
        with _database(command, arguments, allowed="--no-services" not in argv[1:]):
            return _execute([argv[0], *arguments])
    except env.EnvError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _execute(argv: list[str]) -> int:
    # Django only now: its settings want the servers' addresses and the secrets in place.
    from django.core import management  # noqa: PLC0415

    # makemigrations asks a database for its history if there is one; none is a normal case here.
    warnings.filterwarnings("ignore", message="Got an error checking a consistent migration history")
    management.execute_from_command_line(argv)
    return 0


@contextlib.contextmanager
def _database(command: str, arguments: list[str], *, allowed: bool) -> Iterator[None]:
    """A database with tables for the command, if it needs one. Refuses when there is none and `allowed` is false."""
    helping = command.startswith("-") or {"--help", "-h"} & set(arguments)
    if env.text("DATABASE_URL") or command in _NO_DATABASE or helping:
        yield
        return
    root = Path(env.text("CKPTSITE_DATA", str(children.BASE_DIR / ".ckptsite"))).expanduser().absolute()
    folder = folders.Folder(root)
    try:
        folders.make(folder)
    except OSError as error:
        raise env.EnvError(f"The data folder {str(root)!r} can't be written: {error.strerror}.") from error
    with lock.share(folder.root / "use.lock") as handle, contextlib.ExitStack() as stack:
        end = time.monotonic() + _START_WITHIN
        while not postgres.answers(folder.database_url):
            if not allowed:
                raise env.EnvError(f"No PostgreSQL answers in {str(folder.run)!r}; start manage.py up first.")
            try:
                stack.enter_context(_own_server(folder, handle, tables=command != _BRINGS_TABLES))
            except lock.Held as error:
                if time.monotonic() > end:
                    raise env.EnvError(
                        f"Process {error.pid} uses the data folder {str(root)!r}, "
                        "but its PostgreSQL does not answer."
                    ) from None
                time.sleep(0.1)
        lock.wait(folder.root / "starting.lock")  # of another command that is still making the tables
        yield


@contextlib.contextmanager
def _own_server(folder: folders.Folder, handle: int, *, tables: bool) -> Iterator[None]:
    """PostgreSQL for as long as this command, and others that found it meanwhile, need it."""

    def say(line: str) -> None:
        print(line, file=sys.stderr)

    with lock.own(folder.lock):
        leftovers.clear(folder, database_url=folder.database_url, say=say)
        server = postgres.program(folder, say=say)
        with lock.own(folder.root / "starting.lock"):
            process = processes.start(server)
            processes.note(folder, server.name, process.pid)
            try:
                _until_usable(folder, server, process)
                if tables:
                    _make_tables(folder)
            except BaseException:
                processes.stop(process, server, within=10)
                raise
        try:
            yield
        finally:
            lock.alone(handle)
            processes.stop(process, server, within=10)
            processes.forget(folder, server.name)


def _until_usable(
    folder: folders.Folder, server: processes.Program, process: subprocess.Popen[bytes]
) -> None:
    end = time.monotonic() + _START_WITHIN
    while not postgres.answers(folder.database_url):
        if process.poll() is not None or time.monotonic() > end:
            raise env.EnvError(f"PostgreSQL does not come up; see {server.log}.")
        time.sleep(0.02)
    postgres.make_database(folder.database_url)


def _make_tables(folder: folders.Folder) -> None:
    if postgres.has_tables(folder.database_url):
        return
    made = subprocess.run(
        [sys.executable, str(children.BASE_DIR / "manage.py"), "migrate", "--noinput", "--verbosity=0"],
        env={**os.environ, "DATABASE_URL": folder.database_url},
        check=False,
    )
    if made.returncode != 0:
        raise env.EnvError("The tables could not be made.")
