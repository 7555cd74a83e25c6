"""Backups: the whole database in one file, by PostgreSQL's own programs, and back into an empty one."""

import os
import subprocess
import tempfile
from pathlib import Path

from psycopg import conninfo

from ckptsite import addresses, env
from ckptsite.services import binaries, postgres
from ckptsite.services import folder as folders

KEYS = "secret_key, key_hmac, audit_hmac and secrets_keys"
"""The files of a data folder without which its database can't be told from a forged one, nor its secrets be read."""


def address(data: Path) -> str:
    """The database that commands on this data folder work on."""
    return env.text("DATABASE_URL", folders.Folder(data).database_url)


def write(url: str, file: Path) -> int:
    """Write the database at `url`, as it is at one moment, into a new file that only its owner reads; its bytes.

    Work goes on meanwhile. Refuses (EnvError) a file that is there, and what PostgreSQL refuses; then no file is left.
    """
    if file.exists():
        raise env.EnvError(f"{str(file)!r} is there already; a backup replaces nothing.")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    except OSError as error:
        raise env.EnvError(f"{str(file)!r} can't be written: {error.strerror}.") from error
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            _run("pg_dump", url, "--format=custom", "--no-owner", "--no-privileges", stdout=out.fileno())
            os.fsync(out.fileno())
        os.link(draft, file)  # whole or not at all, and never over another one
    except OSError as error:
        raise env.EnvError(f"{str(file)!r} can't be written: {error.strerror}.") from error
    finally:
        draft.unlink()
    return file.stat().st_size


def load(url: str, file: Path) -> None:
    """Bring what `write` wrote into the empty database at `url`: all of it or, with an EnvError, nothing."""
    if postgres.has_tables(url):
        raise env.EnvError(
            "The database has tables already. A backup is restored into an empty one: "
            "into another data folder, or one that DATABASE_URL names."
        )
    _run("pg_restore", url, "--no-owner", "--no-privileges", "--single-transaction", str(file))


def _run(program: str, url: str, *options: str, stdout: int = subprocess.DEVNULL) -> None:
    given = addresses.database(url).libpq()
    # Whoever lists processes sees a command line, but not an environment.
    secret = {"PGPASSWORD": given.pop("password")} if "password" in given else {}
    command = [str(binaries.postgres() / program), f"--dbname={conninfo.make_conninfo(**given)}", *options]
    done = subprocess.run(
        command, env={**os.environ, **secret}, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise env.EnvError(said[0] if said else f"{program} ended with {done.returncode}.")
