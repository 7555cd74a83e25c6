"""Management commands and the PostgreSQL they need: that of a running `up`, or one for the command's life."""

import contextlib
import os
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
_START_WITHIN = 30.0


def main(argv: Sequence[str]) -> int:
    """Run one management command; its exit code. What can't be used: one sentence and exit code 1."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ckptsite.settings")
    arguments = [argument for argument in argv[1:] if argument != "--no-services"]
    command = arguments[0] if arguments else "help"
    if command == "up":
        return up.main(arguments[1:])
    try:
        with _database(command, arguments, allowed="--no-services" not in argv[1:]) as fresh:
            return _execute([argv[0], *arguments], migrate_first=fresh and command != "migrate")
    except env.EnvError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _execute(argv: list[str], *, migrate_first: bool) -> int:
    # Django only now: its settings want the servers' addresses and the secrets in place.
    import django  # noqa: PLC0415
    from django.core import management  # noqa: PLC0415

    # makemigrations asks a database for its history if there is one; none is a normal case here.
    warnings.filterwarnings("ignore", message="Got an error checking a consistent migration history")
    if migrate_first:
        django.setup()
        management.call_command("migrate", verbosity=0, interactive=False)
    management.execute_from_command_line(argv)
    return 0


@contextlib.contextmanager
def _database(command: str, arguments: list[str], *, allowed: bool) -> Iterator[bool]:
    """True when the database is new, so that its tables are still missing."""
    if env.text("DATABASE_URL") or command in _NO_DATABASE or command.startswith("-"):
        yield False
        return
    if {"--help", "-h"} & set(arguments):
        yield False
        return
    root = Path(env.text("CKPTSITE_DATA", str(children.BASE_DIR / ".ckptsite"))).expanduser().absolute()
    folder = folders.Folder(root)
    try:
        folders.make(folder)
    except OSError as error:
        raise env.EnvError(f"The data folder {str(root)!r} can't be written: {error.strerror}.") from error
    with lock.share(folder.root / "use.lock") as handle, contextlib.ExitStack() as stack:
        fresh = False
        end = time.monotonic() + _START_WITHIN
        while not postgres.answers(folder.database_url):
            if not allowed:
                raise env.EnvError(f"No PostgreSQL answers in {str(folder.run)!r}; start manage.py up first.")
            try:
                fresh = stack.enter_context(_own_server(folder, handle))
            except lock.Held as error:
                if time.monotonic() > end:
                    raise env.EnvError(
                        f"Process {error.pid} uses the data folder {str(root)!r}, "
                        "but its PostgreSQL does not answer."
                    ) from None
                time.sleep(0.1)
        yield fresh


@contextlib.contextmanager
def _own_server(folder: folders.Folder, handle: int) -> Iterator[bool]:
    """PostgreSQL for as long as this command, and others that found it meanwhile, need it."""

    def say(line: str) -> None:
        print(line, file=sys.stderr)

    with lock.own(folder.lock):
        leftovers.clear(folder, database_url=folder.database_url, say=say)
        server = postgres.program(folder, say=say)
        process = processes.start(server)
        processes.note(folder, server.name, process.pid)
        try:
            end = time.monotonic() + _START_WITHIN
            while not postgres.answers(folder.database_url):
                if process.poll() is not None or time.monotonic() > end:
                    raise env.EnvError(f"PostgreSQL does not come up; see {server.log}.")
                time.sleep(0.02)
            yield postgres.make_database(folder.database_url)
        finally:
            lock.alone(handle)
            processes.stop(process, server, within=10)
            processes.forget(folder, server.name)
