"""Counts of tries and what was used once, kept in Valkey for all web processes together: a Django cache of our own.

Django's own backend pickles whatever isn't a number, and empties the whole server on `clear`. This one keeps JSON
under names of its own. While Valkey is gone each process counts for itself: limits become looser, and nobody is
locked out.
"""

from __future__ import annotations

import functools
import json
import time
from typing import Any

import redis
import structlog
from django.conf import settings
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from django.db import connection

QUIET_SECONDS = 5.0
MOST_OWN = 100_000
log = structlog.get_logger(__name__)


class Json:
    """Values as JSON; what isn't JSON, somebody else has written: it counts as nothing."""

    def dumps(self, obj: Any) -> bytes:
        """Return what is kept."""
        return json.dumps(obj).encode()

    def loads(self, data: Any) -> Any:
        """Return the value; None where it can't be read."""
        try:
            return json.loads(data)
        except ValueError:
            return None


class Client(RedisCacheClient):
    """One server for the whole process; without it the process' own memory."""

    def __init__(self, servers: list[str]) -> None:
        timeout = settings.REDIS_TIMEOUT
        super().__init__(servers, serializer=Json, socket_timeout=timeout, socket_connect_timeout=timeout)
        self._own = LocMemCache("counts", {"OPTIONS": {"MAX_ENTRIES": MOST_OWN}})
        self._quiet_until = 0.0

    def add(self, key: Any, value: Any, timeout: Any) -> Any:
        """Keep the value unless there is one; return whether it was kept."""
        return self._shared("add", key, value, timeout)

    def get(self, key: Any, default: Any) -> Any:
        """Return the value."""
        found = self._shared("get", key, default)
        return default if found is None else found

    def set(self, key: Any, value: Any, timeout: Any) -> Any:
        """Keep the value."""
        return self._shared("set", key, value, timeout)

    def touch(self, key: Any, timeout: Any) -> Any:
        """Keep it for so long from now."""
        return self._shared("touch", key, timeout)

    def delete(self, key: Any) -> Any:
        """Keep it no longer."""
        return self._shared("delete", key)

    def has_key(self, key: Any) -> Any:
        """Return whether there is a value."""
        return self._shared("has_key", key)

    def incr(self, key: Any, delta: int) -> Any:
        """Return the number, higher by `delta`. Refuses (ValueError) where there is none."""
        return self._shared("incr", key, delta)

    def clear(self) -> bool:
        """Forget what is counted here, and nothing else that the server holds."""
        self._own.clear()
        server = self.get_client(write=True)
        for name in server.scan_iter(match=named("*", "", 1)):
            server.delete(name)
        return True

    def _shared(self, act: str, key: Any, *values: Any) -> Any:
        if time.monotonic() >= self._quiet_until:
            try:
                return getattr(super(), act)(key, *values)
            except redis.RedisError as error:
                self._quiet_until = time.monotonic() + QUIET_SECONDS
                log.warning("tries_counted_alone", error=str(error))
        return getattr(self._own, act)(key, *values)


class Counts(RedisCache):
    """The cache; every thread and request uses the process' one client."""

    @property
    def _cache(self) -> Client:
        return _client()


@functools.lru_cache(maxsize=1)
def _client() -> Client:
    return Client([settings.REDIS_CLIENT])


def named(key: str, _prefix: str, _version: int) -> str:
    """Return the name of a key in the server, which may serve several databases."""
    return f"ckptsite:{connection.settings_dict['NAME']}:{key}"
