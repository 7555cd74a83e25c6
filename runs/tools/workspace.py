"""Files inside one folder, and nowhere else: every step of a path is opened by itself, and no link is followed.

A change is one renaming, which happens as a whole or not at all. What it will be is written down beforehand in the
folder `.ckptsite` of the workspace, under a name made from the key; from what stands there afterwards it can be told
whether the renaming took place. The file that was there before is kept there too, for an undo.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runs.tools import contract

OWN = ".ckptsite"
HIDDEN = frozenset({OWN, ".git"})
"""What no tool of files may touch: our own notes, and what makes programs run (hooks and settings of git)."""
MOST_PARTS = 32
ABSENT = "absent"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Elsewhere(ValueError):
    """There is no such file in this workspace, or it is none that may be touched; one sentence."""


class NoFolder(Elsewhere):
    """There is no such folder."""


def parts(path: str) -> tuple[str, ...]:
    """Return the steps of a path below the workspace; Elsewhere for one that leads out, or is hidden."""
    found = tuple(path.split("/"))
    if not path or len(found) > MOST_PARTS or any(part in {"", ".", ".."} for part in found):
        raise Elsewhere(f"{path!r} is no path inside the workspace.")
    if any(
        not part.isprintable() or len(part.encode("utf-8", "replace")) > 255 or "\\" in part for part in found
    ):
        raise Elsewhere(f"{path!r} has characters that names of files here may not have.")
    if any(part.casefold() in HIDDEN for part in found):
        raise Elsewhere(f"{path!r} is not for agents.")
    return found


def stem(key: str) -> str:
    """Return the name of what is noted under a key. It tells nobody the key."""
    return hashlib.sha256(key.encode()).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class Found:
    """A file as it stands."""

    content: bytes
    mode: int
    number: int
    cut: bool = False

    @property
    def sha256(self) -> str:
        """Return the digest of what was read of it."""
        return hashlib.sha256(self.content).hexdigest()


class Root:
    """One workspace, opened."""

    def __init__(self, folder: Path) -> None:
        self._stack = contextlib.ExitStack()
        self._folder = folder

    def __enter__(self) -> Root:
        self._stack.__enter__()
        try:
            self.fd = self._opened(os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        except OSError as error:
            self._stack.close()
            raise Elsewhere(f"The workspace can't be opened: {error.strerror}.") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _opened(self, fd: int) -> int:
        self._stack.callback(os.close, fd)
        return fd

    def folder(self, steps: tuple[str, ...], *, make: bool = False) -> int:
        """Return the descriptor of a folder below the workspace; Elsewhere where a step is none, or a link."""
        fd = self.fd
        for part in steps:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=fd)
            try:
                fd = self._opened(os.open(part, _FOLDER, dir_fd=fd))
            except OSError as error:
                kind = NoFolder if isinstance(error, FileNotFoundError) else Elsewhere
                where = "/".join(steps)
                raise kind(f"{where!r} is no folder in this workspace: {error.strerror}.") from error
        return fd

    def read(self, path: str, *, most: int) -> Found | None:
        """Return the file, up to `most` bytes, or None where there is none; Elsewhere for what is no plain file."""
        steps = parts(path)
        try:
            fd = os.open(steps[-1], _FILE, dir_fd=self.folder(steps[:-1]))
        except (FileNotFoundError, NoFolder):
            return None
        except OSError as error:
            raise Elsewhere(f"{path!r} can't be opened: {error.strerror}.") from error
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            os.close(fd)
            raise Elsewhere(f"{path!r} is no plain file.")
        with os.fdopen(fd, "rb") as file:
            content = file.read(most + 1)
            mode = stat.S_IMODE(about.st_mode)
            return Found(content=content[:most], mode=mode, number=about.st_ino, cut=len(content) > most)

    def digest(self, path: str, *, most: int) -> str:
        """Return the digest of the file, or that it is absent."""
        try:
            found = self.read(path, most=most)
        except Elsewhere as error:
            return str(error)
        return ABSENT if found is None else found.sha256 + ("+" if found.cut else "")

    def listed(self, steps: tuple[str, ...], *, most: int) -> Iterator[dict[str, Any]]:
        """Yield what is in a folder by name, `most` and no more; links are named and not followed."""
        with os.scandir(self.folder(steps)) as entries:
            names = sorted(entry.name for entry in entries if entry.name.casefold() not in HIDDEN)
        for name in names[:most]:
            about = os.stat(name, dir_fd=self.folder(steps), follow_symlinks=False)
            kinds = ((stat.S_ISDIR, "folder"), (stat.S_ISREG, "file"), (stat.S_ISLNK, "link"))
            kind = next((word for test, word in kinds if test(about.st_mode)), "other")
            yield {"name": name, "kind": kind, "size": about.st_size if kind == "file" else None}

    # Changes.

    def _own(self) -> int:
        with contextlib.suppress(FileExistsError):
            os.mkdir(OWN, 0o700, dir_fd=self.fd)
        return self.folder((OWN,))

    def note(self, name: str) -> dict[str, Any] | None:
        """Return what was noted under a name before a change, whether it took place or not."""
        try:
            fd = os.open(f"{name}.json", _FILE, dir_fd=self.folder((OWN,)))
        except (Elsewhere, FileNotFoundError):
            return None
        with os.fdopen(fd, "rb") as file:
            found: dict[str, Any] = json.load(file)
        return found

    def happened(self, name: str) -> bool:
        """Return whether the change that was noted under this name took place; Elsewhere where nobody can tell."""
        note = self.note(name)
        if note is None:
            return False
        if note["do"] == "put":  # the new file had this name until it got its own
            return not self._is(self.folder((OWN,)), f"{name}.new")
        if note["do"] == "take":  # the old file has this name since it lost its own
            return self._is(self.folder((OWN,)), f"{name}.old")
        if self._number(note["to"]) == note["number"]:
            return True
        if self._number(note["path"]) == note["number"]:
            return False
        raise Elsewhere(
            f"{note['path']!r} was moved on by somebody else, so nobody can tell whether it was moved."
        )

    def _is(self, fd: int, name: str) -> bool:
        try:
            os.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def _number(self, path: str) -> int | None:
        try:
            found = self.read(path, most=0)
        except Elsewhere:
            return None
        return None if found is None else found.number

    def put(
        self, name: str, path: str, content: bytes, *, ready: Callable[[], None], undoes: str = ""
    ) -> bool:
        """Let the file have this content, and return whether one was there; what was there is kept.

        `ready` is called right before the change, and may refuse it. What fails before it is raised as DidNotHappen.
        """
        with self._before(name):
            steps = parts(path)
            there = self.read(path, most=0)
            folder, own = self.folder(steps[:-1], make=True), self._own()
            self._write(own, f"{name}.new", content, 0o644 if there is None else there.mode)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{name}.old", dir_fd=own)
            if there is not None:
                os.link(steps[-1], f"{name}.old", src_dir_fd=folder, dst_dir_fd=own, follow_symlinks=False)
            self._note(own, name, {"do": "put", "path": path, "had": there is not None,
                                   "sha256": hashlib.sha256(content).hexdigest(), "undoes": undoes})  # fmt: skip
            ready()
        os.rename(f"{name}.new", steps[-1], src_dir_fd=own, dst_dir_fd=folder)
        os.fsync(folder)
        return there is not None

    def take(self, name: str, path: str, *, ready: Callable[[], None], undoes: str = "") -> None:
        """Take the file away; it is kept. Refuses DidNotHappen."""
        with self._before(name):
            steps = parts(path)
            if self.read(path, most=0) is None:
                raise Elsewhere(f"There is no file {path!r}.")
            folder, own = self.folder(steps[:-1]), self._own()
            self._note(own, name, {"do": "take", "path": path, "undoes": undoes})
            ready()
        os.rename(steps[-1], f"{name}.old", src_dir_fd=folder, dst_dir_fd=own)
        os.fsync(folder)

    def move(self, name: str, path: str, to: str, *, ready: Callable[[], None], undoes: str = "") -> None:
        """Give the file another name. Refuses DidNotHappen, also where that name is taken."""
        with self._before(name):
            steps, target = parts(path), parts(to)
            found = self.read(path, most=0)
            if found is None:
                raise Elsewhere(f"There is no file {path!r}.")
            folder, other = self.folder(steps[:-1]), self.folder(target[:-1], make=True)
            if self._is(other, target[-1]):
                raise Elsewhere(f"There is something at {to!r} already.")
            note = {"do": "move", "path": path, "to": to, "number": found.number, "undoes": undoes}
            self._note(self._own(), name, note)
            ready()
        os.rename(steps[-1], target[-1], src_dir_fd=folder, dst_dir_fd=other)
        os.fsync(other)

    def kept(self, name: str) -> bytes:
        """Return the file that a change has replaced or taken away; Elsewhere where none is kept."""
        try:
            fd = os.open(f"{name}.old", _FILE, dir_fd=self.folder((OWN,)))
        except (OSError, Elsewhere) as error:
            raise Elsewhere("What was there before isn't kept any more.") from error
        with os.fdopen(fd, "rb") as file:
            return file.read()

    @contextlib.contextmanager
    def _before(self, name: str) -> Iterator[None]:
        """Let what fails in here leave no note, and be raised as DidNotHappen."""
        try:
            yield
        except (OSError, Elsewhere, contract.DidNotHappen) as error:
            with contextlib.suppress(OSError, Elsewhere):
                own = self.folder((OWN,))
                for ending in ("json", "new"):  # the note first: alone it would say that it happened
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(f"{name}.{ending}", dir_fd=own)
            if isinstance(error, contract.DidNotHappen):
                raise
            said = f"{error.strerror}." if isinstance(error, OSError) else str(error)
            raise contract.DidNotHappen(said) from error

    def _write(self, fd: int, name: str, content: bytes, mode: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, mode, dir_fd=fd), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def _note(self, own: int, name: str, note: dict[str, Any]) -> None:
        self._write(own, f"{name}.draft", json.dumps(note).encode(), 0o600)
        os.rename(f"{name}.draft", f"{name}.json", src_dir_fd=own, dst_dir_fd=own)
        os.fsync(own)
