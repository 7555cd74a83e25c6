"""Runs `manage.py up` as a person at a shell would, and looks at it from outside."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from ckptsite.services import children, processes
from tests import waiting

READY = re.compile(r"^Ready: (http://127\.0\.0\.1:\d+/)$", re.MULTILINE)
# An ordinary user who may read the whole installation wherever it lies, and write nowhere.
ORDINARY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
            "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")  # fmt: skip


class Site:
    """One `up` on one data folder."""

    def __init__(
        self,
        data: Path,
        *arguments: str,
        prefix: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> None:
        self.data = data
        handle, name = tempfile.mkstemp(prefix="ckptsite-up-", suffix=".out")
        self._out = Path(name)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("CKPTSITE_") and name not in {"DATABASE_URL", "REDIS_URL"}
        }
        with os.fdopen(handle, "wb") as out:
            self.process = subprocess.Popen(
                [*prefix, sys.executable, str(children.BASE_DIR / "manage.py"), "up", "--no-browser",
                 "--data", str(data), *(arguments or ("--port", "0"))],
                stdout=out, stderr=out, stdin=subprocess.DEVNULL, env={**kept, **(environment or {})},
            )  # fmt: skip

    @property
    def said(self) -> str:
        """All that it printed so far."""
        return self._out.read_text(encoding="utf-8", errors="replace")

    def ready(self) -> "Site":
        """Wait for the Ready line."""
        waiting.until(
            lambda: READY.search(self.said) or self.process.poll() is not None, within=90, what="Ready"
        )
        assert READY.search(self.said), self.said
        return self

    @property
    def url(self) -> str:
        found = READY.search(self.said)
        assert found
        return found[1]

    def pid(self, name: str) -> int:
        """The process that runs `name` now, or 0."""
        with contextlib.suppress(FileNotFoundError, ValueError, IndexError):  # it may be being written
            return int((self.data / "pids" / name).read_text(encoding="ascii").split()[0])
        return 0

    def page(self) -> bool:
        """True when a page that asks the database is served."""
        with contextlib.suppress(OSError):
            try:
                answer = urllib.request.urlopen(f"{self.url}readyz", timeout=5)
            except urllib.error.HTTPError as error:  # the clock may not have looked yet
                answer = error
            with answer:
                return bool(json.load(answer)["database"]["ok"])
        return False

    def family(self) -> dict[int, str | None]:
        """Every process below this one, with its start time."""
        shown = subprocess.run(
            ["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=True
        ).stdout
        children: dict[int, list[int]] = {}
        for line in shown.splitlines():
            pid, parent = (int(part) for part in line.split())
            children.setdefault(parent, []).append(pid)
        found: dict[int, str | None] = {}
        todo = [self.process.pid]
        while todo:
            for pid in children.get(todo.pop(), []):
                found[pid] = processes.started_at(pid)
                todo.append(pid)
        return {pid: start for pid, start in found.items() if start is not None}

    def end(self, number: int = signal.SIGTERM, *, within: float = 30) -> int:
        """Send a signal and give back the exit code."""
        self.process.send_signal(number)
        return self.process.wait(within)


def alive(family: dict[int, str | None]) -> list[int]:
    """Which of these very processes are still there."""
    return [pid for pid, start in family.items() if processes.started_at(pid) == start]
