"""Files by content: how arguments and results name them, and those that a call makes itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pydantic
from pydantic_core import PydanticCustomError

MOST_FILES = 20
MOST_BYTES = 25 * 1024 * 1024
"""Of one call's files together."""


class NoFile(ValueError):
    """There is no such file, or it can't be kept; the message is one sentence without its full stop."""


Keep = Callable[[str, str | None], str]
"""Keeps the bytes of a path, and gives their digest; or checks a digest that came with the path. Refuses NoFile."""


class FileRef(pydantic.BaseModel):
    """Bytes named by content: the digest decides what is read, the path is only for people.

    An agent may name a path alone: when the call is proposed its bytes are kept, and from then on it is they.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    path: str = pydantic.Field(min_length=1, max_length=255)
    sha256: str = pydantic.Field(pattern=r"^[0-9a-f]{64}$")

    @pydantic.model_validator(mode="before")
    @classmethod
    def _kept(cls, value: Any, info: pydantic.ValidationInfo) -> Any:
        keep: Keep | None = (info.context or {}).get("keep")
        named = {"path": value} if isinstance(value, str) else value
        if keep is None or not isinstance(named, Mapping) or not isinstance(named.get("path"), str):
            return value
        try:
            return {**named, "sha256": keep(named["path"], named.get("sha256"))}
        except NoFile as error:
            raise PydanticCustomError("file", "{said}", {"said": str(error)}) from error


def made(name: str, content: bytes) -> FileRef:
    """Return the name of these bytes; ValueError for a name that is none."""
    return FileRef(path=name, sha256=hashlib.sha256(content).hexdigest())


class Made:
    """The files that one call makes, until they are kept."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    def add(self, name: str, content: bytes) -> FileRef:
        """Return the name of the bytes; ValueError for more than a call may make."""
        ref = made(name, content)
        known = {**self._contents, ref.sha256: content}
        if len(known) > MOST_FILES or sum(map(len, known.values())) > MOST_BYTES:
            raise ValueError(f"A call may make {MOST_FILES} files at most, of {MOST_BYTES:,} bytes together.")
        self._contents = known
        return ref

    def contents(self) -> tuple[bytes, ...]:
        """Return the bytes of each file once."""
        return tuple(self._contents.values())


def named(value: Any) -> Iterator[tuple[str, str]]:
    """Yield path and digest of each file that a JSON value names."""
    if isinstance(value, Mapping):
        if set(value) == {"path", "sha256"} and all(isinstance(part, str) for part in value.values()):
            yield value["path"], value["sha256"]
            return
        for inner in value.values():
            yield from named(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from named(inner)
