"""Providers by their names."""

import pytest

from runs.providers import registry


def test_providers_are_found_by_name() -> None:
    assert registry.get("playbook").name == "playbook"
    assert {"playbook", "replay"} <= set(registry.names())
    with pytest.raises(registry.UnknownProvider, match=r"no provider 'gpt'; there is .*playbook, replay"):
        registry.get("gpt")
