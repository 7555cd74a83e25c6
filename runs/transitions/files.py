"""Turning a path that an agent names into bytes that are kept: at the proposal, once, so that nothing changes later."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from runs import models
from runs.models import blob
from runs.tools import filerefs
from runs.tools.contract import Keep, NoFile
from runs.transitions import starts


def keeper(given: Mapping[str, Any]) -> Keep:
    """Return what keeps the files that a run with this input may name, and gives the digest of each.

    A path is one of a file that the run was given, or else of one in the folder CKPTSITE_FILES_DIR. A digest that
    comes with the path must be of bytes that are kept here already.
    """

    def keep(path: str, sha256: str | None) -> str:
        if sha256 is not None:
            if not models.Blob.objects.filter(sha256=sha256).exists():
                raise NoFile(f"the file {path!r} is not kept here under that digest")
            return sha256
        own = next((digest for name, digest in filerefs.named(given) if name == path), None)
        return own or starts.keep_blob(_read(path))

    return keep


def _read(path: str) -> bytes:
    """Return the bytes of a file below the folder; refuse (NoFile) what is outside it, no file, or too large."""
    folder = settings.CKPTSITE_FILES_DIR
    nothing = NoFile(f"there is no file {path!r} for this run")
    if not folder or "\0" in path:
        raise nothing
    root = Path(folder).resolve()
    try:
        found = (root / path).resolve()
        if not found.is_relative_to(root) or not found.is_file():
            raise nothing
        with found.open("rb") as source:
            content = source.read(blob.MAX_SIZE + 1)
    except OSError as error:
        raise NoFile(f"the file {path!r} can't be read ({error.strerror})") from error
    if len(content) > blob.MAX_SIZE:
        raise NoFile(f"the file {path!r} is larger than {blob.MAX_SIZE:,} bytes")
    return content
