"""What all processes of a box use together, as the system tells it: their limit is one for the whole box."""

from __future__ import annotations

import os
from collections import defaultdict

MOST_PROCESSES = 64
_PAGE = os.sysconf("SC_PAGE_SIZE")


def excess(leader: int, *, memory: int) -> str:
    """Return what the processes below `leader` use too much of, in one sentence, or nothing.

    `memory` is in megabytes, of what each has for itself. What has ended meanwhile is passed over.
    """
    found = _below(leader)
    if len(found) > MOST_PROCESSES:
        return f"It had more than {MOST_PROCESSES} processes at once."
    used = sum(_own(pid) for pid in found)
    return f"Its processes used more than {memory} MB together." if used > memory * 1024 * 1024 else ""


def _below(leader: int) -> set[int]:
    children: dict[int, list[int]] = defaultdict(list)
    for name in os.listdir("/proc"):
        if name.isdigit():
            children[_parent(name)].append(int(name))
    found: set[int] = set()
    waiting = [leader]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            found.add(pid)
            waiting.append(pid)
    return found


def _parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as told:
            return int(told.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _own(pid: int) -> int:
    """Return the bytes that a process shares with no file: what it has asked for itself."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as told:
            parts = told.read().split()
        return (int(parts[1]) - int(parts[2])) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0
