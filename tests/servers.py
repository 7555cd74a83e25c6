"""A real PostgreSQL and a real Valkey for a test session, found by its workers through the environment."""

import contextlib
import os
import subprocess
import tempfile
import time
from pathlib import Path

from ckptsite.services import folder as folders
from ckptsite.services import postgres, processes, valkey

DATA = "CKPTSITE_TEST_SERVERS"  # names the folder for the workers of the session
KEPT = frozenset({DATA, "CKPTSITE_CHROMIUM", "CKPTSITE_HARNESS", "CKPTSITE_MACHINE_EXAMPLES", "CKPTSITE_NPM"})
"""What is said to the tests themselves; all else that is set would make them another site's."""
_WITHIN = 30.0

# Waiting for real time is the slow part of a test, so everything that waits is short here.
_TIMES = {
    "CKPTSITE_LEASE": "2",
    "CKPTSITE_HEARTBEAT": "0.5",
    "CKPTSITE_MARGIN": "0.5",
    "CKPTSITE_CLOCK": "0.1",
    "CKPTSITE_SLICE": "5",
    "CKPTSITE_READ_TIMEOUT": "5",
    "CKPTSITE_EFFECT_TIMEOUT": "5",
    "CKPTSITE_MODEL_TIMEOUT": "5",
    "CKPTSITE_SETTLE": "0.5",
    "CKPTSITE_IDLE_TIMEOUT": "60",  # migrations on a busy machine think for long between two statements
    "CKPTSITE_UNDO_WINDOW_1": "0",
    "CKPTSITE_UNDO_WINDOW_2": "0",
    "CKPTSITE_UNDO_WINDOW_3": "0",
}


class Servers:
    """Both servers in a temp folder."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self._settings = {**postgres.FORGETFUL, "max_connections": "200", **(settings or {})}
        self._temp = tempfile.TemporaryDirectory(prefix="ckptsite-tests-", ignore_cleanup_errors=True)
        self.folder = folders.Folder(Path(self._temp.name) / "data")
        self._running: list[tuple[subprocess.Popen[bytes], processes.Program]] = []

    def start(self) -> None:
        """Both servers answer when this returns; the environment leads to them."""
        Path(self._temp.name).chmod(0o711)
        folders.make(self.folder)
        programs = (
            postgres.program(self.folder, say=print, settings=self._settings),
            valkey.program(self.folder),
        )
        for program in programs:
            self._running.append((processes.start(program), program))
        end = time.monotonic() + _WITHIN
        while not (postgres.answers(self.folder.database_url) and valkey.answers(self.folder)):
            if time.monotonic() > end:
                logs = "\n".join(path.read_text() for path in self.folder.logs.glob("*.log"))
                raise RuntimeError(f"The servers for the tests do not come up:\n{logs}")
            time.sleep(0.02)
        os.environ[DATA] = str(self.folder.root)

    def stop(self) -> None:
        """Nothing of them is left when this returns."""
        for process, program in self._running:
            processes.stop(process, program, within=10)
        with contextlib.suppress(OSError):
            self._temp.cleanup()


def enter(*, worker: str) -> None:
    """Point the environment of this test process at the session's servers, before Django loads its settings.

    Each worker has a database and a Valkey database number of its own.
    """
    folder = folders.Folder(Path(os.environ[DATA]))
    number = int(worker.removeprefix("gw") or 0) if worker else 0
    mine = folder.root / f"of-{worker or 'main'}"
    mine.mkdir(exist_ok=True)
    for name in list(os.environ):
        if name.startswith(("CKPTSITE_", "EMAIL_", "ANTHROPIC_", "OPENAI_")) and name not in KEPT:
            del os.environ[name]
    for name in ("SECRET_KEY", "PUBLIC_URL", "DEBUG", "ALLOWED_HOSTS", "LOG_LEVEL", "LOG_FORMAT"):
        os.environ.pop(name, None)
    os.environ.update(_TIMES)
    os.environ["DATABASE_URL"] = folder.database_url
    os.environ["REDIS_URL"] = folder.redis_url.replace("db=0", f"db={number + 1}")
    os.environ["CKPTSITE_DATA"] = str(mine)
    os.environ["CKPTSITE_ALLOW_ASYNC_COMMIT"] = "yes"
    os.environ["LOG_LEVEL"] = "WARNING"
