"""`files.read` and `files.list`, inside folders that the administrator names."""

from __future__ import annotations

from typing import Annotated, Any

import pydantic
from pydantic_core import PydanticCustomError

from runs.tools import configured, contract, registry, workspace

MOST = 5_000_000
SHOWN = 100_000
LISTED = 1_000


def _path(value: str) -> str:
    try:
        workspace.parts(value)
    except workspace.Elsewhere as error:
        raise PydanticCustomError("path", "{said}", {"said": str(error).rstrip(".")}) from error
    return value


Path = Annotated[str, pydantic.Field(max_length=1_000), pydantic.AfterValidator(_path)]


class ReadArguments(contract.Arguments):
    """Which file, and from which byte on."""

    workspace: configured.Name
    path: Path
    start: int = pydantic.Field(default=0, ge=0, description="The first byte that is wanted.")


class ListArguments(contract.Arguments):
    """Which folder; an empty path is the workspace itself."""

    workspace: configured.Name
    path: Path | None = None


def opened(name: str, *, write: bool = False) -> workspace.Root:
    """Return the workspace; DidNotHappen for one that isn't configured, or isn't there to be changed."""
    known = configured.tools().files.get(name)
    if known is None or (write and not known.write):
        what = "may be changed" if write else "is configured"
        raise contract.DidNotHappen(f"No workspace {name!r} {what}; an administrator can add it.")
    return workspace.Root(known.folder)


class Read(contract.Tool):
    """Read a file of a workspace. What is no text comes as a file; what is long, piece by piece."""

    name = "files.read"
    title = "Read a file"
    effect = contract.Effect.READ
    Arguments = ReadArguments

    def run(self, args: ReadArguments, ctx: contract.Context) -> contract.Receipt:
        """Return {"text", "file", "size", "next"}; `next` is where to read on, None at the end."""
        try:
            with opened(args.workspace) as root:
                found = root.read(args.path, most=MOST)
        except workspace.Elsewhere as error:
            raise contract.DidNotHappen(str(error)) from error
        if found is None:
            raise contract.DidNotHappen(f"There is no file {args.path!r}.")
        if found.cut:
            raise contract.DidNotHappen(f"{args.path!r} has more than {MOST:,} bytes.")
        piece = found.content[args.start : args.start + SHOWN]
        size, text = len(found.content), text_of(piece)
        value: dict[str, Any] = {"text": text, "file": None, "size": size, "next": None}
        if text is None:
            value["file"] = ctx.attach(args.path.rpartition("/")[2], found.content).model_dump()
        elif args.start + len(piece) < size:
            value["next"] = args.start + len(text.encode())
        return contract.Receipt(summary=f"{args.path} read, {size:,} bytes.", value=value)


class List(contract.Tool):
    """List a folder of a workspace."""

    name = "files.list"
    title = "List a folder"
    effect = contract.Effect.READ
    Arguments = ListArguments

    def run(self, args: ListArguments, ctx: contract.Context) -> contract.Receipt:
        """Return {"entries"}: name, kind and size of each, at most a thousand."""
        try:
            with opened(args.workspace) as root:
                steps = workspace.parts(args.path) if args.path else ()
                entries = list(root.listed(steps, most=LISTED))
        except workspace.Elsewhere as error:
            raise contract.DidNotHappen(str(error)) from error
        more = " or more" if len(entries) == LISTED else ""
        return contract.Receipt(
            summary=f"{len(entries)}{more} in {args.path or '/'}.", value={"entries": entries}
        )


def text_of(content: bytes) -> str | None:
    """Return bytes as text, without a sign that was cut at the end; None for what is no text."""
    if b"\0" in content:
        return None
    for cut in range(4):
        try:
            return content[: len(content) - cut].decode()
        except UnicodeDecodeError:
            continue
    return None


def _offer() -> None:
    known = bool(configured.tools().files)
    registry.offer(Read, on=known, how="Name a folder, as in [files.reports] folder.")
    registry.offer(List, on=known, how="Name a folder, as in [files.reports] folder.")


_offer()
