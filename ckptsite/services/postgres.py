"""The embedded PostgreSQL: our own child on a Unix socket, open to the one user who owns it.

As root it runs as `nobody`, because PostgreSQL refuses root; nothing is opened to others beyond the right
to pass through a folder, and that is said.
"""

import os
import pwd
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import psycopg
from psycopg import conninfo, errors, sql

from ckptsite import addresses, env
from ckptsite.services import binaries, processes
from ckptsite.services import folder as folders

OLDEST = 14
_UNPRIVILEGED = "nobody"
_SETTINGS = {
    "listen_addresses": "",
    "shared_buffers": "64MB",
    "max_connections": "60",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "io_method": "sync",
    "jit": "off",
    # A page asks for few rows of many: each plan shall go by indexes, and none waits for workers to be started.
    "random_page_cost": "1.1",
    "max_parallel_workers_per_gather": "0",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}  # for tests only


def program(
    folder: folders.Folder, *, say: Callable[[str], None], settings: dict[str, str] | None = None
) -> processes.Program:
    """The server on this data folder, ready to be started; makes the cluster when there is none.

    Refuses (EnvError) when the cluster can't be made or another PostgreSQL already works on it.
    """
    place = binaries.postgres()
    user = _UNPRIVILEGED if os.geteuid() == 0 else None
    if user is not None:
        _hand_over(folder.run, user)
        folder.root.chmod(0o711)  # ours; everything private in it is closed by itself
        for path in _let_pass(folder.root, place):
            say(f"PostgreSQL runs as {user!r}: {str(path)!r} may now be passed through (o+x).")
    if not folder.postgres.is_dir():
        _initialise(folder, place, user)
    _write_access(folder.postgres, user)
    _drop_stale_lock(folder.postgres)
    given = {
        **_SETTINGS,
        "unix_socket_directories": str(folder.run),
        # With a server of another user, the peer check is what keeps others out.
        "unix_socket_permissions": "0777" if user else "0700",
        **(settings or {}),
    }
    options = [part for name, value in given.items() for part in ("-c", f"{name}={value}")]
    return processes.Program(
        name="postgres",
        command=(str(place / "postgres"), "-D", str(folder.postgres), *options),
        environment=_environment(),
        log=folder.logs / "postgres.log",
        stop_signal=signal.SIGINT,  # "fast": ends sessions, loses nothing
        death_signal=signal.SIGTERM,  # "smart": stays for a worker that still has a receipt to write
        user=user,
    )


def connect(url: str, *, dbname: str | None = None, timeout: int = 2) -> psycopg.Connection:
    """A connection of our own to the server at `url`."""
    given = addresses.database(url).libpq(dbname=dbname)
    return psycopg.connect(conninfo.make_conninfo(**given), connect_timeout=timeout)


def answers(url: str) -> bool:
    """True when a server takes connections at `url` (whether or not the database there exists)."""
    try:
        with connect(url, dbname="postgres"):
            return True
    except psycopg.OperationalError:
        return False


def make_database(url: str) -> bool:
    """Make the database that `url` names; False when it was there."""
    address = addresses.database(url)
    with connect(url, dbname="postgres") as connection:
        connection.autocommit = True
        if connection.execute("select 1 from pg_database where datname = %s", [address.name]).fetchone():
            return False
        try:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(address.name)))
        except errors.DuplicateDatabase:
            return False
        return True


def has_tables(url: str) -> bool:
    """True once the database at `url` has been migrated."""
    with connect(url) as connection:
        return connection.execute("select to_regclass('django_migrations') is not null").fetchone() == (True,)


def require(url: str) -> str:
    """The version of the server at `url`. Refuses in one sentence when it can't be used."""
    try:
        with connect(url, timeout=5) as connection:
            number = connection.info.server_version
    except psycopg.Error as error:
        reason = " ".join(str(error).split())
        raise env.EnvError(f"DATABASE_URL does not lead to a database: {reason}") from error
    if number < OLDEST * 10_000:
        raise env.EnvError(
            f"PostgreSQL {number // 10_000} is too old; ckptsite needs version {OLDEST} or newer."
        )
    return f"{number // 10_000}.{number % 10_000}"


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}


def _initialise(folder: folders.Folder, place: Path, user: str | None) -> None:
    """Made beside and renamed, so that a start that was cut short leaves nothing half-made."""
    draft = folder.root / "postgres.new"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    if user is not None:
        _hand_over(draft, user)
    command = [
        str(place / "initdb"), "-D", str(draft), "-U", "ckptsite", "--auth-local=peer", "--auth-host=reject",
        "--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8",
        "--no-instructions",
    ]  # fmt: skip
    maker = processes.Program(
        name="initdb",
        command=tuple(command),
        environment=_environment(),
        log=folder.logs / "initdb.log",
        user=user,
    )
    try:
        code = processes.start(maker).wait()
    except OSError as error:
        raise env.EnvError(f"PostgreSQL's programs can't be started: {error}.") from error
    if code != 0:
        last = maker.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        raise env.EnvError(f"The database could not be made: {' '.join(last) or f'initdb ended with {code}'}")
    draft.rename(folder.postgres)


def _write_access(data: Path, user: str | None) -> None:
    """Only the operating system's user who runs us gets in, as the one database user, without a password."""
    try:
        owner = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise env.EnvError(
            f"User number {os.geteuid()} has no name on this machine; PostgreSQL needs one."
        ) from None
    quoted = owner.replace('"', '""')
    for name, line in (
        ("pg_hba.conf", "local all ckptsite peer map=own\n"),
        ("pg_ident.conf", f'own "{quoted}" ckptsite\n'),
    ):
        path = data / name
        if path.read_text(encoding="utf-8") != line:
            path.write_text(line, encoding="utf-8")
        path.chmod(0o600)
        if user is not None:
            _hand_over(path, user)


def _drop_stale_lock(data: Path) -> None:
    """A lock file whose process number now belongs to somebody else would stop the server from starting.

    We hold the data folder's own lock here, so only a PostgreSQL started by hand can still be at work.
    """
    path = data / "postmaster.pid"
    try:
        number = path.read_text(encoding="utf-8", errors="replace").split()[0]
    except (FileNotFoundError, IndexError):
        number = ""
    if number.isdecimal() and processes.program_name(int(number)) == "postgres":
        raise env.EnvError(
            f"Another PostgreSQL (process {number}) already works on {str(data)!r}; stop it first."
        )
    path.unlink(missing_ok=True)


def _hand_over(path: Path, user: str) -> None:
    entry = pwd.getpwnam(user)
    os.chown(path, entry.pw_uid, entry.pw_gid)


def _let_pass(*targets: Path) -> list[Path]:
    """Let other users pass (not read) the folders above `targets`; those that had to be changed."""
    changed = []
    for target in targets:
        for path in reversed([target, *target.parents]):
            mode = path.stat().st_mode
            if not mode & 0o001:
                path.chmod((mode & 0o7777) | 0o001)
                changed.append(path)
    return changed
