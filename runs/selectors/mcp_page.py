"""What MCP servers offer, for the page on which an administrator accepts it."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runs import differences, exact, models, rights
from runs.selectors import check_models, review_edits, tools

MOST = 1_000
NEW, CHANGED, ACCEPTED, GONE = "new", "changed", "accepted", "gone"
_WORDS = {NEW: "New", CHANGED: "Changed", ACCEPTED: "Accepted", GONE: "Not offered any more"}


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One tool as its server describes it now, or did last."""

    id: int
    name: str
    full_name: str
    state: str
    words: str
    description: str
    schema: str
    digest: str
    hints: tuple[str, ...]
    changes: tuple[check_models.Changed, ...]  # against what was accepted last
    declared: str  # effect and tier as they count here, where it can be called
    by: str
    at: datetime.datetime


@dataclass(frozen=True, kw_only=True)
class ServerRows:
    """One server's tools, those first that wait for somebody."""

    name: str
    offers: tuple[Offer, ...]
    waiting: int
    look: models.McpLook | None  # the newest that somebody asked for here
    named: bool  # in the file, so that it can be asked


@dataclass(frozen=True, kw_only=True)
class McpPage:
    """All servers."""

    servers: tuple[ServerRows, ...]
    may: bool
    asking: bool  # a worker asks one of them just now


def page(roles: Iterable[str], *, named: Iterable[str]) -> McpPage:
    """Return every server's tools, for somebody with these roles; `named` are the servers in the file."""
    rows = models.McpTool.objects.select_related("accepted_by").order_by("server", "name", "-number")[:MOST]
    grouped: dict[tuple[str, str], list[models.McpTool]] = defaultdict(list)
    for row in rows:
        grouped[row.server, row.name].append(row)
    there = dict.fromkeys(named)
    by_server: dict[str, list[Offer]] = defaultdict(list, {name: [] for name in there})
    for (server, _), versions in grouped.items():
        by_server[server].append(_offer(versions))
    looks = {row.server: row for row in models.McpLook.objects.order_by("server", "-pk").distinct("server")}
    order = (CHANGED, NEW, ACCEPTED, GONE)
    return McpPage(
        servers=tuple(
            ServerRows(
                name=name,
                offers=tuple(sorted(offers, key=lambda one: (order.index(one.state), one.name))),
                waiting=sum(one.state in {NEW, CHANGED} for one in offers),
                look=looks.get(name),
                named=name in there,
            )
            for name, offers in by_server.items()
        ),
        may=rights.may(roles, rights.Act.TOOLS),
        asking=any(row.done_at is None for row in looks.values()),
    )


def _offer(versions: list[models.McpTool]) -> Offer:
    """Return a tool of which these are the descriptions, newest first."""
    accepted = [row for row in versions if row.accepted_at is not None]
    row = next((row for row in versions if row.offered), versions[0])
    if not row.offered:
        state = GONE
    elif row.accepted_at is not None:
        state = ACCEPTED
    else:
        state = CHANGED if accepted else NEW
    full_name = f"mcp.{row.server}.{row.name}"
    tool = tools.find(full_name) if state == ACCEPTED else None
    told = row.description
    return Offer(
        id=row.pk,
        name=row.name,
        full_name=full_name,
        state=state,
        words=_WORDS[state],
        description=told["description"],
        schema=exact.canonical(told["input"], limit=None),
        digest=row.digest,
        hints=_hints(told["annotations"]),
        changes=_changes(accepted[0].description, told) if state == CHANGED else (),
        declared=f"Tier {tool.risk()}, {tools.effect_words(tool.effect, tool=tool.name)}" if tool else "",
        by=row.accepted_by.display() if row.accepted_by else "",
        at=row.accepted_at or row.seen_at,
    )


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[check_models.Changed, ...]:
    return tuple(review_edits.changed(one) for one in differences.between(before, after))


def _hints(annotations: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the server says of the tool itself: hints, on which nothing here rests."""
    said = {
        ("readOnlyHint", True): "only reads",
        ("readOnlyHint", False): "changes something",
        ("destructiveHint", True): "may destroy",
        ("destructiveHint", False): "only adds",
        ("idempotentHint", True): "the same again does nothing more",
        ("openWorldHint", True): "reaches beyond its server",
    }
    return tuple(words for (name, value), words in said.items() if annotations.get(name) is value)
