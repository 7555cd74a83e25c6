"""Counting tries in a window of time, in all web processes together: enough to slow down who asks too often."""

from __future__ import annotations

from django.core.cache import cache


def counted(key: str, seconds: int) -> int:
    """Return the number of tries under this key in the window that began with the first, this one included."""
    cache.add(key, 0, seconds)
    try:
        return int(cache.incr(key))
    except ValueError:  # it ran out between the two calls
        return 1
