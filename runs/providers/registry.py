"""The providers by name: a closed list, resolved when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs.providers import contract, playbook, playbook_format, replay

_PROVIDERS: dict[str, contract.Provider] = {
    provider.name: provider for provider in (playbook.Playbook(), replay.Replay())
}


class UnknownProvider(LookupError):
    """There is no provider of this name; the message is one sentence."""


def get(name: str) -> contract.Provider:
    """Return the provider called `name`; refuse (UnknownProvider) a name that isn't in the list."""
    try:
        return _PROVIDERS[name]
    except KeyError:
        raise UnknownProvider(f"There is no provider {name!r}; there is {', '.join(names())}.") from None


def check_step(provider: str, body: Mapping[str, Any], tools: tuple[str, ...]) -> None:
    """Refuse (ValueError, one sentence) a plan step that this provider can't carry out with these tools."""
    if provider == playbook.Playbook.name:
        playbook_format.check_planned(body, tools)


def names() -> tuple[str, ...]:
    """Return the names of all providers, sorted."""
    return tuple(sorted(_PROVIDERS))
