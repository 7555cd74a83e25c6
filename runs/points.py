"""Named points at which a test may stop, kill or pause this process. In production each is one empty call.

The points are where the world and the record can part: on both sides of every commit of the engine and of people,
of every wake-up, and of every call of a tool or provider. A test replaces `reach`; the code that passes a point knows
nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable

Reach = Callable[[str], None]


def _pass(name: str) -> None:
    """Do nothing."""


_reach: Reach = _pass


def reach(name: str) -> None:
    """Pass the point `name`, for example `intent.before_commit`."""
    _reach(name)


def arm(replacement: Reach | None) -> None:
    """Call `replacement` at each point from now on; None calls nothing again."""
    global _reach  # noqa: PLW0603 the one switch, thrown by tests only
    _reach = replacement or _pass
