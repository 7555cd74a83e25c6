"""Accepted tools of MCP servers beside the installed ones: found by name whenever they are asked for."""

from __future__ import annotations

import threading
import time

from django.conf import settings

from runs import models
from runs.mcp import kinds, servers
from runs.tools import contract, registry

FRESH = 1.0
"""So many seconds what was read counts: a tool that was accepted elsewhere is known here by then."""


class Offering:
    """The registry's source of such tools."""

    def __init__(self) -> None:
        self._known: dict[str, contract.Tool] = {}
        self._made: dict[tuple[str, str, servers.Said], contract.Tool] = {}
        self._read = 0.0
        self._lock = threading.Lock()

    def find(self, name: str) -> contract.Tool | None:
        """Return the tool, or None where none of this name is offered and accepted."""
        return self._now().get(name) if name.startswith(kinds.PREFIX) else None

    def all(self) -> tuple[contract.Tool, ...]:
        """Return all of them."""
        return tuple(self._now().values())

    def longest_timeout(self) -> float:
        """Return the longest time in seconds that the operator gives to one call of them."""
        try:
            every = servers.everything().values()
        except servers.BadServers:
            return 0.0
        return max(
            (said.seconds for server in every for said in (servers.Said(), *server.tools.values())),
            default=0.0,
        )

    def forget(self) -> None:
        """Read anew when next asked."""
        self._read = 0.0

    def _now(self) -> dict[str, contract.Tool]:
        if not settings.CKPTSITE_MCP:
            return {}
        with self._lock:
            if time.monotonic() - self._read > FRESH or not self._read:
                rows = models.McpTool.objects.filter(offered=True, accepted_at__isnull=False)
                found = [self._tool(row) for row in rows.order_by("server", "name")]
                self._known = {tool.name: tool for tool in found if tool is not None}
                self._read = time.monotonic()
            return self._known

    def _tool(self, row: models.McpTool) -> contract.Tool | None:
        server = servers.everything().get(row.server)
        if server is None:
            return None
        key = (kinds.full_name(row.server, row.name), row.digest, server.said(row.name))
        if key not in self._made:
            kind = kinds.kind(row)
            assert kind is not None
            self._made[key] = kind()
        return self._made[key]


OFFERING = Offering()


def offer() -> None:
    """Let the registry find them."""
    registry.look_in(OFFERING)
