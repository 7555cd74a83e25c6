"""Asking a server what it offers: from the shell at once, from the page in a worker, where servers may be called."""

from __future__ import annotations

from runs import models, points, redaction
from runs.engine.secrets import NotFilledIn
from runs.mcp import kinds, servers, sessions
from runs.models.mcp import McpTool
from runs.transitions import mcp
from runs.transitions.actor import Actor

WITHIN = 60.0
"""Seconds that a server has to answer."""


class NotAsked(Exception):
    """A server could not be asked; one sentence."""


def ask(name: str, *, by: Actor) -> tuple[int, tuple[McpTool, ...]]:
    """Return how many tools a server offers now, and those that nobody has accepted yet. Refuses NotAsked."""
    try:
        server = servers.everything().get(name)
        if server is None:
            raise NotAsked(f"There is no MCP server {name!r} in the file.")
        points.reach("mcp_look.before_call")
        offered = sessions.listed(name, kinds.filled(name, server), within=WITHIN)
        points.reach("mcp_look.after_call")
    except (servers.BadServers, sessions.NotThere, NotFilledIn) as error:
        raise NotAsked(redaction.clean(str(error))) from error
    return len(offered), mcp.seen(name, offered, by=by)


def look(look_id: int) -> bool:
    """Do the look that somebody asked for on the page; return whether there was one. Repeated freely after a crash."""
    row = models.McpLook.objects.select_related("by").filter(pk=look_id, done_at__isnull=True).first()
    if row is None:
        return False
    try:
        count, waiting = ask(row.server, by=Actor(user=row.by, channel="page"))
    except NotAsked as error:
        mcp.looked(row.pk, said=str(error), failed=True)
    else:
        mcp.looked(row.pk, said=f"{count} offered, {len(waiting)} to be accepted.", failed=False)
    return True
