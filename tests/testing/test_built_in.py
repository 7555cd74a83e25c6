"""Every built-in tool with an effect is killed at its lines, and what it declares about its outcome is true."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from runs import testing
from runs.testing.world import OutsideWorld
from runs.tools import contract, file_changes, http, workspace

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


class Folder:
    """A workspace, counted by what lies in it: what was noted and done, and not taken back since."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _done(self, name: str) -> bool:
        with workspace.Root(self.folder) as root:
            return root.happened(name)

    def effects(self, key: str) -> int:
        notes = {path.stem: json.loads(path.read_text()) for path in self.folder.glob(".ckptsite/*.json")}
        back = [name for name, note in notes.items() if note["undoes"] == workspace.stem(key)]
        return max(0, self._done(workspace.stem(key)) - sum(map(self._done, back)))

    def state(self) -> object:
        return sorted((str(path), path.read_bytes()) for path in self.folder.rglob("*") if path.is_file())


def _file(kind: type[contract.Tool], **arguments: str) -> Callable[..., Stage]:
    def stage(settings: Settings, folder: Path, worlds: object) -> Stage:
        settings.CKPTSITE_TOOLS = {"files": {"desk": {"folder": str(folder), "write": True}}}

        def run(self: contract.Tool, args: Any, ctx: contract.Context) -> contract.Receipt:
            """Have a file to move or delete each time."""
            if kind is not file_changes.Write:
                (folder / "b.txt").unlink(missing_ok=True)
                (folder / "new").write_text(ctx.idempotency_key)
                (folder / "new").rename(folder / "a.txt")
            return kind.run(self, args, ctx)

        again = type(kind.__name__, (kind,), {"run": run, "__module__": kind.__module__})
        return again, {"workspace": "desk", "path": "a.txt"} | arguments, Folder(folder)

    return stage


STAGES: dict[str, Callable[..., Stage]] = {
    "files.write": _file(file_changes.Write, text="new"),
    "files.move": _file(file_changes.Move, to="b.txt"),
    "files.delete": _file(file_changes.Delete),
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
