"""The data folder: what lies where, and the secrets in it."""

import contextlib
import dataclasses
import os
import secrets
import tempfile
from pathlib import Path
from urllib.parse import quote

from ckptsite import env

SOCKET_BYTES = 100  # the kernel takes 107 (macOS 103); some room for the servers' own suffixes


@dataclasses.dataclass(frozen=True)
class Folder:
    """Names inside one data folder. Makes nothing by itself."""

    root: Path

    @property
    def postgres(self) -> Path:
        return self.root / "postgres"

    @property
    def lock(self) -> Path:
        return self.root / "up.lock"

    @property
    def pids(self) -> Path:
        return self.root / "pids"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def worker_ready(self) -> Path:
        """Touched by the worker once it takes messages."""
        return self.root / "worker.ready"

    @property
    def static(self) -> Path:
        return self.root / "static"

    @property
    def mail(self) -> Path:
        return self.root / "mail"

    @property
    def notices(self) -> Path:
        return self.root / "notices"

    @property
    def ledger(self) -> Path:
        return self.root / "ledger.sqlite3"

    @property
    def run(self) -> Path:
        """Where the sockets are: inside the folder, or in the temp folder when its path is too long."""
        inside = self.root / "run"
        if len(os.fsencode(inside / ".s.PGSQL.5432.lock")) <= SOCKET_BYTES:
            return inside
        with contextlib.suppress(OSError):
            return Path((self.root / "run-folder").read_text(encoding="utf-8").strip())
        return inside

    @property
    def port(self) -> Path:
        """Where `up` notes the port of its pages, so that other commands print the right addresses."""
        return self.root / "port"

    def noted_port(self, default: int) -> int:
        """The port that `up` noted last, or `default`."""
        with contextlib.suppress(OSError, ValueError):
            return int(self.port.read_text(encoding="ascii"))
        return default

    @property
    def valkey_socket(self) -> Path:
        return self.run / "valkey.sock"

    @property
    def database_url(self) -> str:
        return f"postgresql://ckptsite@/ckptsite?host={quote(str(self.run), safe='/')}"

    @property
    def redis_url(self) -> str:
        return f"unix://{quote(str(self.valkey_socket))}?db=0"


def make(folder: Folder) -> None:
    """Make the folders that every process needs, closed to others. Raises OSError when that can't be done."""
    for path in (folder.root, folder.pids, folder.logs, folder.mail):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    inside = folder.root / "run"
    if len(os.fsencode(inside / ".s.PGSQL.5432.lock")) <= SOCKET_BYTES:
        inside.mkdir(mode=0o700, exist_ok=True)
    elif not (folder.run != inside and folder.run.is_dir()):
        # mkdtemp makes it 0700 and new, so nobody else can have prepared it.
        place = tempfile.mkdtemp(prefix="ckptsite-")
        (folder.root / "run-folder").write_text(place, encoding="utf-8")


def secret(folder: Folder, name: str) -> str:
    """The secret kept in the file `name`, made on first use (0600); when there is no data folder yet, one for
    this process alone, which is enough to list, check and collect. Refuses a file that it may not read.
    """
    path = folder.root / name
    try:
        return _kept(path)
    except FileNotFoundError:
        fresh = secrets.token_urlsafe(48)
    if not folder.root.is_dir() or not os.access(folder.root, os.W_OK):
        return fresh
    # Written whole under another name and linked, so that two processes that start together share one secret.
    handle, draft = tempfile.mkstemp(prefix=f".{name}-", dir=folder.root)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(fresh)
    try:
        os.link(draft, path)
    except FileExistsError:
        return _kept(path)
    finally:
        Path(draft).unlink()
    return fresh


def _kept(path: Path) -> str:
    try:
        value = path.read_text(encoding="ascii").strip()
    except PermissionError as error:
        raise env.EnvError(f"The secret {str(path)!r} belongs to another user and can't be read.") from error
    if not value:
        raise env.EnvError(f"The secret {str(path)!r} is empty; delete the file or put the secret back.")
    return value
