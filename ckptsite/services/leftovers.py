"""What an `up` that was killed left behind: cleared before the next one starts, never adopted."""

import contextlib
import os
import signal
from collections.abc import Callable

from ckptsite import env
from ckptsite.services import effects, postgres, processes
from ckptsite.services import folder as folders

_GENTLE = {"postgres": signal.SIGINT}
_ORDER = ("web", "worker", "clock", "valkey", "postgres")
_PATIENCE = 5.0


def clear(folder: folders.Folder, *, database_url: str, say: Callable[[str], None]) -> None:
    """End every process that an earlier start noted and that is still the same process.

    A worker inside an effect is waited for up to that effect's deadline, since killing it would leave the
    outcome unknown. Call it with the data folder's lock held.
    """
    left = processes.noted(folder)
    names = sorted(left, key=lambda name: _ORDER.index(name) if name in _ORDER else -1)
    for name in names:
        pid = left[name]
        say(f"Clearing {name} (process {pid}), left by an earlier start")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, _GENTLE.get(name, signal.SIGTERM))
        if not processes.wait_gone(pid, within=_PATIENCE) and name == "worker":
            _wait_for_effects(pid, database_url=database_url, say=say)
        processes.end_session(pid)
        processes.wait_gone(pid, within=_PATIENCE)
        processes.forget(folder, name)


def _wait_for_effects(pid: int, *, database_url: str, say: Callable[[str], None]) -> None:
    """Until the worker is gone or nothing more is under way.

    A server that lost its own supervisor still serves the worker, but takes no new questions; then the longest time
    that an effect may take is what we wait.
    """
    if not postgres.answers(database_url):
        longest = env.seconds("CKPTSITE_EFFECT_TIMEOUT", 30.0) + env.seconds("CKPTSITE_MARGIN", 5.0)
        say(f"It may be inside an effect, waiting {longest:.0f} s at most")
        processes.wait_gone(pid, within=longest)
        return
    said = None
    while (busy := effects.under_way(database_url)) is not None:
        if said != busy.until:
            say(f"It is inside {busy.count} effect(s), waiting until {busy.until:%H:%M:%S} at the latest")
            said = busy.until
        if processes.wait_gone(pid, within=min(1.0, max(busy.seconds, 0.1))):
            return
