"""The built-in tools on worlds of their own: folders, databases, repositories, programs and HTTP."""

from __future__ import annotations

import contextlib
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
    programs,
    sandbox,
    sql,
    workspace,
)
from tests.tools.test_git import git, repository

Stage = tuple[type[contract.Tool], dict[str, Any], testing.World]


def request(kind: type[contract.Tool], method: str, *, remembers: bool = False) -> Callable[..., Stage]:
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


def files(kind: type[contract.Tool], **arguments: str) -> Callable[..., Stage]:
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


def sqlite(settings: Settings, folder: Path, worlds: object) -> Stage:
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


def repositories(kind: type[contract.Tool], **arguments: Any) -> Callable[..., Stage]:
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


def program(settings: Settings, folder: Path, worlds: object) -> Stage:
    if sandbox.trouble():
        pytest.skip(
            sandbox.trouble()
        )  # no bubblewrap works here, and without it the product runs no program either
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
