"""git at arm's length: no hook, no setting of a user or system, no question, no program that a repository names.

What a repository's own settings name (filters, say) is its administrator's: no tool of ours lets agents write there.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import pydantic
from pydantic_core import PydanticCustomError

from runs.tools import configured, contract

_SET = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "protocol.ext.allow=never", "gc.auto=0", "credential.helper=",
    "commit.gpgSign=false", "submodule.recurse=false", "maintenance.auto=false",
)  # fmt: skip


class Unknown(RuntimeError):
    """Nobody knows whether git has done it; one sentence."""


MOST = 200_000
NOBODY = "0" * 40

_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@-]{0,199}\Z")
_NO_REF = re.compile(r"\.\.|@\{|//|\.lock\Z|[./]\Z|/\.")


def _ref(value: str) -> str:
    if not _REF.match(value) or _NO_REF.search(value):
        raise PydanticCustomError("ref", "this is no name of a branch or commit")
    return value


Ref = Annotated[str, pydantic.AfterValidator(_ref)]
Commit = Annotated[str, pydantic.Field(pattern=r"^[0-9a-f]{40}$", description="The whole name of a commit.")]


class Failed(RuntimeError):
    """git refused; its own words."""


@dataclass(frozen=True, kw_only=True)
class Repository:
    """One repository, and how long everything with it may take."""

    known: configured.Repository
    ctx: contract.Context
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Return where its files are."""
        return self.known.folder

    def git(
        self, *words: str, given: str = "", most: int = MOST, env: Mapping[str, str] | None = None
    ) -> str:
        """Return what git says; refuse (Failed) with its own words what it refuses, and what takes too long."""
        code, out, err = self.try_git(*words, given=given, env=env)
        if code:
            raise Failed(" ".join((err or out).split())[:500] or f"git {words[0]} ended with {code}")
        return out if len(out) <= most else f"{out[:most]}\n… and more: {len(out) - most:,} characters."

    def try_git(
        self, *words: str, given: str = "", env: Mapping[str, str] | None = None
    ) -> tuple[int, str, str]:
        """Return how git ended, and what it said; Failed where it can't be begun or took too long."""
        command = ["git", "--no-pager", "--no-optional-locks"]
        for setting in _SET:
            command += ["-c", setting]
        try:
            with subprocess.Popen(
                [*command, *words],
                cwd=self.folder,
                env=self._environment() | dict(self.more) | dict(env or {}),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            ) as process:
                try:
                    out, err = process.communicate(given.encode(), timeout=max(self.ctx.remaining(), 0.1))
                except subprocess.TimeoutExpired:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    raise Failed(f"git {words[0]} took too long") from None
        except OSError as error:
            raise Failed(f"git can't be run: {error.strerror}") from error
        return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "SSH_AUTH_SOCK") if name in os.environ}
        name, _, mail = self.known.author.rstrip(">").partition(" <")
        return {
            **kept,
            "GIT_DIR": str(self.folder / ".git"),
            "GIT_WORK_TREE": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "/bin/false",
            "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
            "GIT_LITERAL_PATHSPECS": "1",
            "LC_ALL": "C.UTF-8",
            **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", name), ("EMAIL", mail))},
        }  # fmt: skip

    def move(self, *words: str) -> None:
        """Move a branch, in one step. Refuses DidNotHappen what git refuses; what gets no answer is Unknown."""
        try:
            code, _, err = self.try_git("update-ref", *words)
        except Failed as error:
            raise Unknown(str(error)) from error
        if code < 0:
            raise Unknown("git was killed while it moved the branch")
        if code:
            raise contract.DidNotHappen(f"git refused it: {' '.join(err.split())[:300]}.")

    def tip(self, branch: str) -> str:
        """Return the commit that a branch points at, or nothing where there is no such branch."""
        code, out, _ = self.try_git("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}")
        return out.strip() if code == 0 else ""

    def signed_in(self) -> dict[str, str]:
        """Return what lets git in at the address that is pushed to."""
        if not self.known.token:
            return {}
        token = configured.value(self.known.token, self.ctx)
        pair = base64.b64encode(f"{self.known.user}:{token}".encode()).decode()
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{self.known.push}.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {pair}",
        }

    def there(self, branch: str) -> str:
        """Return the commit that the branch points at where it is pushed to, or nothing. Refuses Failed."""
        out = self.git("ls-remote", "--", self.known.push, f"refs/heads/{branch}", env=self.signed_in())
        found = re.match(r"([0-9a-f]{40})\t", out)
        return found[1] if found else ""

    def refresh(self, paths: tuple[str, ...]) -> None:
        """Let the index know what the branch has of these files; where it can't, `git status` says so."""
        with contextlib.suppress(Failed):
            self.try_git("reset", "--quiet", "HEAD", "--", *paths)

    def written(self, parent: str, paths: tuple[str, ...]) -> str:
        """Return the tree of `parent` with these files, kept in the repository; its own index stays as it is."""
        with tempfile.TemporaryDirectory(prefix="ckptsite-git-") as scratch:
            own = Repository(known=self.known, ctx=self.ctx, more={"GIT_INDEX_FILE": f"{scratch}/index"})
            return own.tree(parent, paths)

    @contextlib.contextmanager
    def aside(self, parent: str, paths: tuple[str, ...]) -> Iterator[tuple[Repository, str]]:
        """Give the repository with an index and a store of objects aside, and the tree of `parent` with these files."""
        with tempfile.TemporaryDirectory(prefix="ckptsite-git-") as scratch:
            objects = Path(scratch) / "objects"
            objects.mkdir()
            own = Repository(
                known=self.known,
                ctx=self.ctx,
                more={
                    "GIT_INDEX_FILE": f"{scratch}/index",
                    "GIT_OBJECT_DIRECTORY": str(objects),
                    "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.folder / ".git" / "objects"),
                },
            )
            yield own, own.tree(parent, paths)

    def tree(self, parent: str, paths: tuple[str, ...]) -> str:
        """Return the tree of `parent` with these files as they lie there now."""
        self.git("read-tree", parent)
        self.git("add", "--all", "--force", "--", *paths)
        return self.git("write-tree").strip()


def opened(name: str, ctx: contract.Context, *, write: bool = False) -> Repository:
    """Return the repository; DidNotHappen for one that isn't configured, isn't there, or may not be changed."""
    known = configured.tools().git.get(name)
    if known is None or (write and not known.write):
        what = "may be changed" if write else "is configured"
        raise contract.DidNotHappen(f"No repository {name!r} {what}; an administrator can add it.")
    if not (known.folder / ".git").is_dir():
        raise contract.DidNotHappen(f"The repository {name!r} isn't there.")
    return Repository(known=known, ctx=ctx)
