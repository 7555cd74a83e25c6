"""The smallest rows about what agents are given and remember, as in `rows`."""

from __future__ import annotations

from typing import Any

from runs import models
from tests.core.rows import DIGEST, user, version


def mcp_look(**more: Any) -> models.McpLook:
    """A look at a server that somebody asked for."""
    return models.McpLook.objects.create(server="odd", by=more.pop("by", None) or user(), **more)


def mcp_tool(**more: Any) -> models.McpTool:
    """A description of a tool that nobody has accepted."""
    given: dict[str, Any] = {
        "server": "odd",
        "name": "note",
        "number": 1,
        "description": {},
        "digest": DIGEST,
        "offered": False,
    }
    return models.McpTool.objects.create(**(given | more))


def memory_note(**more: Any) -> models.MemoryNote:
    """A note of an agent."""
    given: dict[str, Any] = {
        "agent": more.pop("agent", None) or version().agent,
        "name": "tone",
        "version": 1,
        "words": "",
    }
    return models.MemoryNote.objects.create(**(given | more))


def memory_version(**more: Any) -> models.MemoryVersion:
    """A version of a note; who wrote it has to be said."""
    given: dict[str, Any] = {"note": more.pop("note", None) or memory_note(), "number": 1}
    return models.MemoryVersion.objects.create(**(given | more))
