"""The providers by name: a closed list, resolved when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runs.providers import contract, llm, playbook, playbook_format, playbook_order, replay
from runs.providers.playbook_order import Doubt as Doubt

_PROVIDERS: dict[str, contract.Provider] = {
    provider.name: provider for provider in (playbook.Playbook(), replay.Replay(), llm.Llm())
}


class UnknownProvider(LookupError):
    """There is no provider of this name; the message is one sentence."""


def get(name: str) -> contract.Provider:
    """Return the provider called `name`; refuse (UnknownProvider) a name that isn't in the list."""
    try:
        return _PROVIDERS[name]
    except KeyError:
        raise UnknownProvider(f"There is no provider {name!r}; there is {', '.join(names())}.") from None


def check_model(provider: str, model: str) -> None:
    """Refuse (ValueError, one sentence) a model that this provider can't ask."""
    if provider == llm.Llm.name:
        llm.vendor_of(model)


def check_step(provider: str, body: Mapping[str, Any], tools: tuple[str, ...]) -> None:
    """Refuse (ValueError, one sentence) a plan step that this provider can't carry out with these tools."""
    if provider == playbook.Playbook.name:
        playbook_format.check_planned(body, tools)


def doubts(
    provider: str,
    definition: Mapping[str, Any],
    steps: Sequence[Mapping[str, Any]],
    *,
    before: Sequence[Mapping[str, Any]],
    closed: frozenset[str],
) -> tuple[Doubt, ...]:
    """Return what is wrong with the order of a plan's open steps for this provider; a model reads them as words."""
    if provider != playbook.Playbook.name:
        return ()
    loops = playbook_order.loops(definition)
    return playbook_order.doubts(steps, before=before, closed=closed, loops=loops)


def retitled(
    provider: str, definition: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], *, old: Any, new: Any
) -> dict[str, str]:
    """Return the titles, by step id, that say what the input was and is to be said anew of the `new` one."""
    return playbook.retitled(definition, steps, old=old, new=new) if follows_plan(provider) else {}


def follows_plan(provider: str) -> bool:
    """Return whether the plan itself is what this provider does, so that no model reads anything."""
    return provider == playbook.Playbook.name


def names() -> tuple[str, ...]:
    """Return the names of all providers, sorted."""
    return tuple(sorted(_PROVIDERS))
