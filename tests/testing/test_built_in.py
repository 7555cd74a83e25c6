"""Every built-in tool with an effect is killed at its lines, and what it declares about its outcome is true."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from runs import testing
from runs.testing.world import OutsideWorld
from runs.tools import (
    contract,
    databases,
    file_changes,
    git_changes,
    git_push,
    http,
    programs,
    registry,
    sandbox,
    slack,
    sql,
    webhooks,
    workspace,
)
from tests.notices.outside import Receiver
from tests.tools.test_git import git, repository
from tests.tools.test_messages import SECRET, Workspace

pytest_plugins = ["runs.testing.plugin"]

KILLS = 6
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


class Books:
    """A SQLite file: an effect is a row under the reference of its key."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def effects(self, key: str) -> int:
        with contextlib.closing(sqlite3.connect(self.path)) as own:
            if not own.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [databases.MARKERS]).fetchone():
                return int(own.execute("SELECT count(*) FROM booking").fetchone()[0])
            rows = own.execute("SELECT count(*) FROM booking").fetchone()[0]
            marks = [key for (key,) in own.execute(f"SELECT key FROM {databases.MARKERS}")]
            return marks.count(key) + int(rows) - len(marks)  # a row without its marker is one too many

    def state(self) -> object:
        return self.path.read_bytes()


def _sql(settings: Settings, folder: Path, worlds: object) -> Stage:
    path = folder / "books.sqlite3"
    with contextlib.closing(sqlite3.connect(path)) as own:
        own.execute("CREATE TABLE booking (id integer PRIMARY KEY, name text)")
    url = f"sqlite:///{path}"
    settings.CKPTSITE_TOOLS = {"sql": {"books": {"url": url, "write_url": url, "rehearse": True}}}
    statement = "INSERT INTO booking (name) VALUES (?1)"
    given = {"connection": "books", "reference": "R 1", "statement": statement, "parameters": ["Ada"]}
    return sql.Execute, given, Books(path)


class Site:
    """Two repositories, seen with git itself."""

    def __init__(self, site: Path, bare: Path, kind: type[contract.Tool]) -> None:
        self.site, self.bare, self.kind = site, bare, kind
        self.second = ""

    def effects(self, key: str) -> int:
        name = workspace.stem(key)
        if self.kind is git_push.Push:
            return int(git(self.bare, "rev-parse", "main") == self.second)
        if self.kind is git_changes.MakeBranch:
            names = git(self.site, "branch", "--format=%(refname:short)").split()
            return sum(name in git(self.site, "reflog", "show", "--format=%gs", one, "--") for one in names)
        made = len(git(self.site, "log", "--format=%H", f"--grep={name}", "main").split())
        tip = git(self.site, "show", "-s", "--format=%B", "main")
        return made - (
            "Take back" in tip and git(self.site, "show", "-s", "--format=%B", "main^").count(name)
        )

    def state(self) -> object:
        return [git(place, "for-each-ref") for place in (self.site, self.bare)]


def _git(kind: type[contract.Tool], **arguments: Any) -> Callable[..., Stage]:
    def stage(settings: Settings, folder: Path, worlds: object) -> Stage:
        site, bare = repository(folder)
        world = Site(site, bare, kind)
        first = git(site, "rev-parse", "main")
        settings.CKPTSITE_TOOLS = {"git": {"site": {"folder": str(site), "write": True, "push": str(bare)}}}
        if kind is git_push.Push:
            git(site, "commit", "-q", "--allow-empty", "-m", "Second")
            arguments["commit"] = world.second = git(site, "rev-parse", "main")

        def run(self: contract.Tool, args: Any, ctx: contract.Context) -> contract.Receipt:
            """Have something to commit, to branch or to push each time, as it is only once."""
            (site / "a.txt").write_text(ctx.idempotency_key)
            if kind is git_push.Push and ctx.attempt == 1:
                git(bare, "update-ref", "refs/heads/main", first)
            elif kind is git_changes.MakeBranch:
                aside = ["branch", "-m", "topic", f"topic-{ctx.idempotency_key}"]
                subprocess.run(["git", "-C", str(site), *aside], check=False, capture_output=True)
            return kind.run(self, args, ctx)

        again = type(kind.__name__, (kind,), {"run": run, "__module__": kind.__module__})
        (site / "a.txt").write_text("changed")
        return again, {"repository": "site"} | arguments, world

    return stage


def _program(settings: Settings, folder: Path, worlds: object) -> Stage:
    if sandbox.trouble():
        pytest.skip(sandbox.trouble())
    settings.CKPTSITE_TOOLS = {
        "files": {"desk": {"folder": str(folder), "write": True}},
        "sandbox": {"workspaces": ["desk"], "seconds": 20},
    }

    class World:
        """What the program does stands in a file, whoever's it was: it knows no key, and so nobody can look it up."""

        def effects(self, key: str) -> int:
            return 0 if key == "nobody's" else int((folder / "done").exists())

        def quiet(self) -> None:
            """Nothing goes on after the tool."""

        def state(self) -> object:
            return sorted(path.name for path in folder.iterdir())

    def run(self: Any, args: Any, ctx: contract.Context) -> contract.Receipt:
        (folder / "done").unlink(missing_ok=True)
        return programs.Shell.run(self, args, ctx)

    again = type("Shell", (programs.Shell,), {"run": run, "__module__": programs.__name__})
    return again, {"workspace": "desk", "command": "touch done", "reference": "R 1"}, World()


class Channel:
    """Slack's channel: a message with the mark of the key."""

    def __init__(self, desk: Workspace) -> None:
        self.desk = desk

    def effects(self, key: str) -> int:
        marks = [one["metadata"]["event_payload"]["mark"] for one in self.desk.messages]
        return marks.count(workspace.stem(key))

    def state(self) -> object:
        return list(self.desk.messages)


def _slack(settings: Settings, folder: Path, worlds: object) -> Stage:
    desk = Workspace()
    desk.start()
    settings.SLACK_API = f"http://127.0.0.1:{desk.port}"
    settings.CKPTSITE_TOOLS = {"slack": {"token": "x", "channels": {"ops": "C01ABCDEF"}, "history": True}}
    return slack.Post, {"channel": "ops", "text": "x", "reference": "R 1"}, Channel(desk)


class Endpoint:
    """A receiver of signed requests, which does each webhook-id once or each time."""

    def __init__(self, *, once: bool) -> None:
        self.receiver, self.once = Receiver(), once

    def effects(self, key: str) -> int:
        found = [one.headers["webhook-id"] for one in self.receiver.taken]
        count = found.count(f"msg_{workspace.stem(key)}")
        return min(count, 1) if self.once else count

    def state(self) -> object:
        return len(self.receiver.taken)


def _webhook(kind: type[contract.Tool], *, once: bool) -> Callable[..., Stage]:
    def stage(settings: Settings, folder: Path, worlds: object) -> Stage:
        world = Endpoint(once=once)
        world.receiver.start()
        known = {"url": world.receiver.url(), "secret": SECRET} | ({"once": 24} if once else {})
        settings.CKPTSITE_TOOLS = {"webhooks": {"orders": known}}
        return kind, {"endpoint": "orders", "event": "x", "reference": "R 1"}, world

    return stage


STAGES: dict[str, Callable[..., Stage]] = {
    "files.write": _file(file_changes.Write, text="new"),
    "files.move": _file(file_changes.Move, to="b.txt"),
    "files.delete": _file(file_changes.Delete),
    "sql.execute": _sql,
    "git.commit": _git(
        git_changes.MakeCommit, branch="main", message="New", paths=("a.txt",), reference="R 1"
    ),
    "git.branch": _git(git_changes.MakeBranch, branch="topic", start="main"),
    "git.push": _git(git_push.Push, branch="main"),
    "shell.run": _program,
    "slack.post": _slack,
    "webhook.send": _webhook(webhooks.Send, once=False),
    "webhook.send_once": _webhook(webhooks.SendOnce, once=True),
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
    for server in (getattr(world, "desk", None), getattr(world, "receiver", None)):
        if server is not None:
            server.stop()


ELSEWHERE = {"email.send", "python.run", "memory.note"}
"""Proven by test_proof.py; as the shell, from which it differs in what it reads only; and one row of our own database,
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
