"""What MCP servers offer, as it was seen, and the acceptance of each description by a person."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from runs import exact, hints, models, rights
from runs.models.mcp import McpLook, McpTool
from runs.transitions import attempts, audit, clock_time, proofs, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale

BATCH = 20
AGAIN, GIVEN_UP = datetime.timedelta(seconds=90), datetime.timedelta(minutes=10)
"""After so long a look is hinted at once more, a server having a minute to answer, and after so long it is given up."""
LONGEST_NAME = 120 - len("mcp..")


def seen(server: str, offered: Mapping[str, Mapping[str, Any]], *, by: Actor) -> tuple[McpTool, ...]:
    """Return what a server offers now and nobody has accepted yet; what it offers no more can't be called from now on.

    A description that was accepted before and is offered again needs no second acceptance: it is the same bytes. Tools
    whose name or description can't be kept are left out.
    """
    with committing("mcp_seen"):
        models.Installation.objects.select_for_update(no_key=True).get(pk=1)
        rows = list(
            McpTool.objects.select_for_update(no_key=True).filter(server=server).order_by("name", "number")
        )
        kept = {name: dict(told) for name, told in offered.items() if _keeps(server, name, told)}
        wanted = {name: exact.digest_of(told) for name, told in kept.items()}
        gone = [row for row in rows if row.offered and wanted.get(row.name) != row.digest]
        McpTool.objects.filter(pk__in=[row.pk for row in gone]).update(offered=False)
        changed = [row.name for row in gone]
        for name, digest in wanted.items():
            known = next((row for row in rows if (row.name, row.digest) == (name, digest)), None)
            if known is not None and known.offered:
                continue
            changed.append(name)
            if known is not None:
                known.offered, known.seen_at = True, clock_time.now()
                known.save(update_fields=["offered", "seen_at"])
                continue
            number = max((row.number for row in rows if row.name == name), default=0) + 1
            McpTool.objects.create(
                server=server, name=name, number=number, description=kept[name], digest=digest
            )
        if changed:
            content = {"tools": {name: wanted.get(name) for name in sorted(set(changed))}}
            audit.append("mcp.seen", actor=by, subject=f"mcp server {server}", content=content)
    return tuple(
        McpTool.objects.filter(server=server, offered=True, accepted_at__isnull=True).order_by("name")
    )


@attempts.noted("mcp.look", "mcp server {}")
def ask_look(server: str, *, by: Actor) -> McpLook:
    """Return the look at a server that is under way, or a new one, which a worker makes. Refuses NotYours."""
    if by.user is None or not rights.may(by.user.roles(), rights.Act.TOOLS):
        raise NotYours("You may not ask MCP servers; an administrator can.")
    with committing("mcp_look_asked"):
        models.Installation.objects.select_for_update(no_key=True).get(pk=1)
        known = McpLook.objects.filter(server=server, done_at__isnull=True).first()
        if known is not None:
            return known
        row = McpLook.objects.create(server=server, by=by.user)
        audit.append("mcp.look_asked", actor=by, subject=f"mcp server {server}", content={"look": row.pk})
        hints.look(row.pk)
    return row


def looked(look_id: int, *, said: str, failed: bool) -> None:
    """Store what came of a look, once."""
    with committing("mcp_looked"):
        rows = McpLook.objects.filter(pk=look_id, done_at__isnull=True)
        rows.update(said=texts.storable(said), failed=failed, done_at=clock_time.now())


def look_again() -> int:
    """Return how many looks were hinted at once more, or given up: their hints or their workers were lost."""
    now = clock_time.now()
    rows = list(
        McpLook.objects.filter(done_at__isnull=True, hinted_at__lt=now - AGAIN).order_by("pk")[:BATCH]
    )
    for row in rows:
        if row.asked_at < now - GIVEN_UP:
            looked(row.pk, said="No worker came to ask it.", failed=True)
            continue
        with committing("mcp_look_again"):
            McpLook.objects.filter(pk=row.pk, done_at__isnull=True).update(hinted_at=now)
            hints.look(row.pk)
    return len(rows)


def _keeps(server: str, name: str, told: Mapping[str, Any]) -> bool:
    if not name or len(name) + len(server) > LONGEST_NAME or not name.isprintable() or " " in name:
        return False
    try:
        exact.canonical(told)
    except exact.NotExact:
        return False
    return isinstance(told.get("input"), Mapping)


@attempts.noted("mcp.accept", "mcp tool {}")
def accept(tool_id: int, *, digest: str, by: Actor) -> McpTool:
    """Return the tool as it is described now, which agents may call from now on. `digest` is of what was read.

    Refuses NotYours, Invalid for a tool that isn't there, Stale where it was accepted already or its server says
    something else by now, and Unproven who hasn't shown lately who they are.
    """
    if by.user is None or not rights.may(by.user.roles(), rights.Act.TOOLS):
        raise NotYours("You may not accept tools; an administrator can.")
    with committing("mcp_accept"):
        models.Installation.objects.select_for_update(no_key=True).get(pk=1)
        row = McpTool.objects.select_for_update(no_key=True).filter(pk=tool_id).first()
        if row is None:
            raise Invalid("There is no such tool.")
        if row.digest != digest or not row.offered:
            raise Stale("The server describes it otherwise by now; read what it says and decide again.")
        if row.accepted_at is not None:
            raise Stale("Somebody has accepted it already.")
        now = clock_time.now()
        proofs.check(by, now)
        before = McpTool.objects.filter(server=row.server, name=row.name, accepted_at__isnull=False)
        last = before.order_by("-number").values_list("digest", flat=True).first()
        row.accepted_at, row.accepted_by = now, by.user
        row.save(update_fields=["accepted_at", "accepted_by"])
        content = {"tool": str(row), "before": last, "after": row.digest}
        audit.append("mcp.accepted", actor=by, subject=f"mcp tool {row.pk}", content=content)
    return row
