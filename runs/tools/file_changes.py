"""`files.write`, `files.move` and `files.delete`, inside folders that the administrator lets agents change.

A change can be looked up by its key, and taken back from the copy that is kept, as long as nobody has changed the file
since. That is what makes it reversible (tier 1).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar, Self

import pydantic
from pydantic_core import PydanticCustomError

from runs.tools import configured, contract, registry, workspace
from runs.tools.file_reads import MOST, Path, opened, text_of

DIFF = 20_000


class WriteArguments(contract.Arguments):
    """Which file, and what it holds from now on: text, or the bytes of another file."""

    workspace: configured.Name
    path: Path
    text: str | None = pydantic.Field(default=None, max_length=500_000)
    file: contract.FileRef | None = None

    @pydantic.model_validator(mode="after")
    def _one(self) -> Self:
        if (self.text is None) == (self.file is None):
            raise PydanticCustomError("content", "give either text or file")
        return self


class MoveArguments(contract.Arguments):
    """Which file, and its new name; nothing may be there yet."""

    workspace: configured.Name
    path: Path
    to: Path


class DeleteArguments(contract.Arguments):
    """Which file."""

    workspace: configured.Name
    path: Path


class _Change(contract.Tool):
    """What the tools that change files share."""

    effect = contract.Effect.REVERSIBLE
    tier = 1
    protection = contract.Protection.LOOKUP
    undo_protection = contract.Protection.LOOKUP
    timeout = timedelta(seconds=20)
    settle = timedelta(seconds=2)  # a local renaming ends with its process
    identity = ("workspace", "path")
    decisive: ClassVar[tuple[str, ...]] = ("path",)

    def change(self, root: workspace.Root, name: str, args: Any, ctx: contract.Context) -> None:
        """Do it."""
        raise TypeError(f"{type(self).__name__} changes nothing")

    def said(self, args: Any) -> str:
        """Return what was done, in one sentence."""
        raise TypeError(f"{type(self).__name__} says nothing")

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        """Return what was done. Refuses DidNotHappen what failed before the file got its new name."""
        name = workspace.stem(ctx.idempotency_key)
        try:
            with opened(args.workspace, write=True) as root:
                self.change(root, name, args, ctx)
        except workspace.Elsewhere as error:
            raise contract.DidNotHappen(str(error)) from error
        return self._receipt(args, name)

    def lookup(self, args: Any, keys: Sequence[str], ctx: contract.Context) -> contract.Receipt | None:
        """Return the receipt if the change took place under one of the keys."""
        with opened(args.workspace) as root:
            for name in map(workspace.stem, keys):
                if root.happened(name):
                    return self._receipt(args, name)
        return None

    def precondition(self, args: Any, ctx: contract.Context) -> Mapping[str, Any]:
        """Return what the files are now: the decision rests on it."""
        with opened(args.workspace) as root:
            return {path: root.digest(path, most=MOST) for path in self.paths(args)}

    def paths(self, args: Any) -> tuple[str, ...]:
        """Return the files that it is about."""
        return (args.path,)

    def undo_lookup(
        self, args: Any, receipt: contract.Receipt, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        """Return the receipt if it was taken back under one of the keys."""
        with opened(args.workspace) as root:
            if any(root.happened(workspace.stem(key)) for key in keys):
                return contract.Receipt(summary=f"Taken back: {receipt.summary}")
        return None

    def undo(self, args: Any, receipt: contract.Receipt, ctx: contract.Context) -> contract.Receipt:
        """Put back what was there. Refuses DidNotHappen where the file was changed since."""
        name, done = workspace.stem(ctx.idempotency_key), str(receipt.value["kept"])
        with opened(args.workspace, write=True) as root:
            note = root.note(done)
            if note is None:
                raise contract.DidNotHappen("What was there before isn't kept any more.")
            try:
                self.back(root, name, done, note, _ready(ctx))
            except workspace.Elsewhere as error:
                raise contract.DidNotHappen(str(error)) from error
        return contract.Receipt(summary=f"Taken back: {receipt.summary}")

    def back(self, root: workspace.Root, name: str, done: str, note: dict[str, Any], ready: Any) -> None:
        """Put back what was there."""
        if note["do"] == "take":
            if root.digest(note["path"], most=MOST) != workspace.ABSENT:
                raise workspace.Elsewhere(f"There is another file at {note['path']!r} by now.")
        elif root.digest(note["path"], most=MOST) != note["sha256"]:
            raise workspace.Elsewhere(f"{note['path']!r} was changed since.")
        if note["do"] == "put" and not note["had"]:
            root.take(name, note["path"], ready=ready, undoes=done)
        else:
            root.put(name, note["path"], root.kept(done), ready=ready, undoes=done)

    def _receipt(self, args: Any, name: str) -> contract.Receipt:
        return contract.Receipt(summary=self.said(args), value={"path": self.paths(args)[-1], "kept": name})


class Write(_Change):
    """Write a file. What was there before is kept for an undo."""

    name = "files.write"
    title = "Write a file"
    Arguments = WriteArguments

    def change(self, root: workspace.Root, name: str, args: WriteArguments, ctx: contract.Context) -> None:
        """Let the file have the content."""
        root.put(name, args.path, _content(args, ctx), ready=_ready(ctx))

    def said(self, args: WriteArguments) -> str:
        """Return that it was written."""
        return f"{args.path} written in {args.workspace}."

    def preview(self, args: WriteArguments, ctx: contract.Context) -> contract.Preview:
        """Return what changes in the file, line by line."""
        new = _content(args, ctx)
        with opened(args.workspace) as root:
            old = root.read(args.path, most=MOST)
        changed = "changed" if old is not None else "made"
        return contract.Preview(
            summary=f"The file {args.path} is {changed} in {args.workspace}.",
            target=f"{args.workspace}/{args.path}",
            facts=(("Before", "nothing" if old is None else f"{len(old.content):,} bytes"),
                   ("Then", f"{len(new):,} bytes")),
            reversal="What is there now is kept, and an undo puts it back as long as nobody changes the file again.",
            body=_difference(b"" if old is None else old.content, new, args.path),
        )  # fmt: skip

    def verify(
        self, args: WriteArguments, receipt: contract.Receipt, ctx: contract.Context
    ) -> contract.Verification:
        """Return whether the file holds what was written."""
        with opened(args.workspace) as root:
            found = root.read(args.path, most=MOST)
        holds = found is not None and found.content == _content(args, ctx)
        said = "holds what was written" if holds else "holds something else by now, or is gone"
        return contract.Verification(holds=holds, summary=f"{args.path} {said}.")


class Move(_Change):
    """Give a file another name."""

    name = "files.move"
    title = "Move a file"
    decisive = ("path", "to")
    Arguments = MoveArguments

    def change(self, root: workspace.Root, name: str, args: MoveArguments, ctx: contract.Context) -> None:
        """Move it."""
        root.move(name, args.path, args.to, ready=_ready(ctx))

    def said(self, args: MoveArguments) -> str:
        """Return that it was moved."""
        return f"{args.path} moved to {args.to} in {args.workspace}."

    def paths(self, args: MoveArguments) -> tuple[str, ...]:
        """Return both names."""
        return (args.path, args.to)

    def preview(self, args: MoveArguments, ctx: contract.Context) -> contract.Preview:
        """Return from where to where."""
        return contract.Preview(
            summary=f"The file {args.path} is moved to {args.to} in {args.workspace}.",
            target=f"{args.workspace}/{args.to}",
            facts=(("From", args.path), ("To", args.to)),
            reversal="An undo moves it back.",
        )

    def back(self, root: workspace.Root, name: str, done: str, note: dict[str, Any], ready: Any) -> None:
        """Move it back."""
        root.move(name, note["to"], note["path"], ready=ready, undoes=done)


class Delete(_Change):
    """Take a file away. It is kept for an undo."""

    name = "files.delete"
    title = "Delete a file"
    Arguments = DeleteArguments

    def change(self, root: workspace.Root, name: str, args: DeleteArguments, ctx: contract.Context) -> None:
        """Take it away."""
        root.take(name, args.path, ready=_ready(ctx))

    def said(self, args: DeleteArguments) -> str:
        """Return that it was taken away."""
        return f"{args.path} deleted in {args.workspace}."

    def preview(self, args: DeleteArguments, ctx: contract.Context) -> contract.Preview:
        """Return what is taken away."""
        with opened(args.workspace) as root:
            old = root.read(args.path, most=MOST)
        return contract.Preview(
            summary=f"The file {args.path} is deleted in {args.workspace}.",
            target=f"{args.workspace}/{args.path}",
            facts=(("Size", "it isn't there" if old is None else f"{len(old.content):,} bytes"),),
            reversal="It is kept, and an undo puts it back.",
            body=_difference(b"" if old is None else old.content, b"", args.path),
        )


def _ready(ctx: contract.Context) -> Any:
    def ready() -> None:
        if ctx.remaining() <= 0:
            raise contract.DidNotHappen("The time was over before the file was changed.", retryable=True)

    return ready


def _content(args: WriteArguments, ctx: contract.Context) -> bytes:
    if args.text is not None:
        return args.text.encode()
    assert args.file is not None
    try:
        return ctx.read(args.file)
    except FileNotFoundError as error:
        raise contract.DidNotHappen(f"The file {args.file.path!r} is not kept here.") from error


def _difference(old: bytes, new: bytes, path: str) -> str:
    """Return what changes, line by line, or that it can't be shown so."""
    before, after = text_of(old), text_of(new)
    if before is None or after is None:
        return "It is no text, so what changes can't be shown line by line."
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"{path}, now", f"{path}, then", lineterm=""
    )
    found = "\n".join(lines)
    return found if len(found) <= DIFF else f"{found[:DIFF]}\n… and more: {len(found) - DIFF:,} characters."


def _offer() -> None:
    known = any(one.write for one in configured.tools().files.values())
    for kind in (Write, Move, Delete):
        registry.offer(kind, on=known, how="Set write = true in a workspace, as in [files.reports].")


_offer()
