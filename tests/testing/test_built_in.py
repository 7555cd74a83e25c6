"""Every built-in tool with an effect is killed at its lines, and what it declares about its outcome is true."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from runs import testing
from runs.testing.world import OutsideWorld
from runs.tools import contract, http

pytest_plugins = ["runs.testing.plugin"]

KILLS = 10
"""So many lines of each tool are killed at here; its author's proof takes more."""

Stage = tuple[type[contract.Tool], dict[str, Any], testing.World]


def _request(kind: type[contract.Tool], method: str, *, remembers: bool = False) -> Callable[..., Stage]:
    def stage(settings: Settings, folder: Path, worlds: Callable[..., OutsideWorld]) -> Stage:
        world = worlds(remembers=remembers)
        named = world.url.removeprefix("http://")
        settings.CKPTSITE_TOOLS = {"http": {"write": [named], "once": {named: 24}}}
        return kind, {"method": method, "url": f"{world.url}/x", "body": "{}", "reference": "R 1"}, world

    return stage


STAGES: dict[str, Callable[..., Stage]] = {
    "http.request": _request(http.Request, "POST"),
    "http.request_once": _request(http.RequestOnce, "POST", remembers=True),
    "http.replace": _request(http.Replace, "PUT"),
}


@pytest.mark.parametrize("name", STAGES)
def test_a_kill_ends_as_the_tool_declares(
    name: str, settings: Settings, tmp_path: Path, outside_world: Callable[..., OutsideWorld]
) -> None:
    settings.CKPTSITE_OUTGOING = [ipaddress.ip_network("127.0.0.0/8")]
    kind, arguments, world = STAGES[name](settings, tmp_path, outside_world)
    assert kind.name == name
    proof = testing.prove(kind, arguments, world=world, kills=KILLS)
    assert proof.kills >= KILLS // 2
