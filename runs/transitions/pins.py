"""What is installed now, as the set that a run is pinned to; and how it differs from what a run started with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from runs import exact, lifecycle, models
from runs.models import columns
from runs.models.pins import PLAN_FORMAT
from runs.providers import registry as providers
from runs.tools import differences, registry
from runs.tools.contract import Tool
from runs.transitions import audit, inbox
from runs.transitions.actor import CLOCK
from runs.transitions.committing import committing

BATCH = 50


def digest_now(provider: str, tools: Iterable[str]) -> str:
    """Return the digest of what is installed now of an agent's provider and tools; it asks no database."""
    return _digest(provider if provider in providers.names() else "", tuple(_contracts(tools)), PLAN_FORMAT)


def now(provider: str, tools: Iterable[str]) -> models.Pins:
    """Return the set that is installed now, kept with the contracts that it names."""
    names = tuple(tools)
    digest = columns.digest(digest_now(provider, names))
    known: list[models.Pins] = columns.fetch(models.Pins, "digest = $1", [digest])
    if known:
        return known[0]
    installed = {name: tool for name in names if (tool := _installed(name)) is not None}
    for name, tool in installed.items():
        models.Contract.objects.get_or_create(
            digest=tool.contract(), defaults={"tool": name, "content": tool.promise()}
        )
    found = _content(provider if provider in providers.names() else "", tuple(_contracts(names)), PLAN_FORMAT)
    return models.Pins.objects.get_or_create(digest=exact.digest_of(found), defaults={"content": found})[0]


def differing(old: models.Pins, new: models.Pins) -> tuple[str, ...]:
    """Return one sentence for each thing that is different, in reviewers' words."""
    before, after = old.content, new.content
    digests = {digest for pins in (before, after) for digest in pins["tools"].values() if digest}
    kept = {row.digest: row.content for row in models.Contract.objects.filter(pk__in=digests)}
    sentences = [
        *differences.providers(before["provider"], after["provider"]),
        *differences.plans(before["plan"], after["plan"]),
    ]
    for name in changed_tools(old, new):
        first, second = (kept.get(pins["tools"].get(name) or "") for pins in (before, after))
        sentences += differences.contracts(name, first, second)
    return tuple(sentences)


def changed_tools(old: models.Pins, new: models.Pins) -> tuple[str, ...]:
    """Return the tools whose contracts differ, by name."""
    before, after = old.content["tools"], new.content["tools"]
    return tuple(name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name))


def asked(review: models.Review) -> bool:
    """Return whether it is asked if a run goes on with another version of what it uses."""
    return review.kind == lifecycle.ReviewKind.FAILURE and "pins" in (review.content or {})


def wake_restored() -> int:
    """Return how many runs were woken because what they started with is installed again."""
    rows = models.Run.objects.filter(offered__isnull=False, status=lifecycle.Run.WAITING)
    woken = 0
    for row in rows.select_related("agent_version").order_by("pk")[:BATCH]:
        version = row.agent_version
        if digest_now(version.provider, version.tools) != row.pins_id:
            continue
        with committing("restored"):
            run = inbox.lock(row.pk)
            if run.status != lifecycle.Run.WAITING or run.offered_id is None:
                continue
            content = {"reason": "what it started with is installed again"}
            inbox.leave(run, models.Fact.Kind.WAKE, content, by=None, mover="S")
            audit.append("run.woken", actor=CLOCK, run=run, subject=f"run {run.pk}")
            woken += 1
    return woken


def _installed(name: str) -> Tool | None:
    try:
        return registry.get(name)
    except registry.UnknownTool:
        return None


def _contracts(tools: Iterable[str]) -> Iterable[tuple[str, str | None]]:
    for name in tools:
        tool = _installed(name)
        yield name, None if tool is None else tool.contract()


def _content(provider: str, contracts: tuple[tuple[str, str | None], ...], plan: int) -> Mapping[str, Any]:
    return {"provider": provider, "plan": plan, "tools": dict(contracts)}


@lru_cache(maxsize=1024)
def _digest(provider: str, contracts: tuple[tuple[str, str | None], ...], plan: int) -> str:
    return exact.digest_of(_content(provider, contracts, plan))
