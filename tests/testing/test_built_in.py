"""Every built-in tool with an effect is killed at its lines, and what it declares about its outcome is true."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings

from runs import testing
from runs.testing.world import OutsideWorld
from runs.tools import (
    contract,
    file_changes,
    git_changes,
    git_push,
    http,
    registry,
    webhooks,
)
from tests.testing import stages, stages_of_messages
from tests.testing.stages import Stage

pytest_plugins = ["runs.testing.plugin"]

KILLS = 6
"""So many lines of each tool are killed at here; its author's proof takes more."""

STAGES: dict[str, Callable[..., Stage]] = {
    "files.write": stages.files(file_changes.Write, text="new"),
    "files.move": stages.files(file_changes.Move, to="b.txt"),
    "files.delete": stages.files(file_changes.Delete),
    "sql.execute": stages.sqlite,
    "git.commit": stages.repositories(
        git_changes.MakeCommit, branch="main", message="New", paths=("a.txt",), reference="R 1"
    ),
    "git.branch": stages.repositories(git_changes.MakeBranch, branch="topic", start="main"),
    "git.push": stages.repositories(git_push.Push, branch="main"),
    "shell.run": stages.program,
    "email.send": stages_of_messages.letters,
    "slack.post": stages_of_messages.channel,
    "webhook.send": stages_of_messages.endpoint(webhooks.Send, once=False),
    "webhook.send_once": stages_of_messages.endpoint(webhooks.SendOnce, once=True),
    "http.request": stages.request(http.Request, "POST"),
    "http.request_once": stages.request(http.RequestOnce, "POST", remembers=True),
    "http.replace": stages.request(http.Replace, "PUT"),
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
    for server in (getattr(world, "desk", None), getattr(world, "receiver", None)):
        if server is not None:
            server.stop()


ELSEWHERE = {"python.run", "memory.note"}
"""As the shell, from which it differs in what it reads only; and one row of our own database,
which needs that (tests/agents/test_memory.py).
"""


def test_no_built_in_tool_with_an_effect_is_left_out() -> None:
    ours = [one.kind for one in registry.off()] + [type(tool) for tool in registry.all()]
    built_in = {
        kind.name
        for kind in ours
        if kind.__module__ in registry.BUILT_IN and kind.effect != contract.Effect.READ
    }
    built_in = {name for name in built_in if not name.endswith(".undo")}
    assert built_in - ELSEWHERE - set(STAGES) == set()
