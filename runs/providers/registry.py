"""The providers by name: a closed list, resolved when it is asked for."""

from __future__ import annotations

from runs.providers import contract, playbook, replay

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


def names() -> tuple[str, ...]:
    """Return the names of all providers, sorted."""
    return tuple(sorted(_PROVIDERS))
