"""Letters as files: one per key, whole or not there at all, never written over."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tempfile
from email import policy
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

from runs.tools import contract

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")


def file_stem(key: str) -> str:
    """Return the file name of a key without its ending; a key that is no plain word is hashed."""
    return key if _PLAIN.match(key) else hashlib.sha256(key.encode()).hexdigest()


def find(folder: Path, key: str) -> str | None:
    """Return the name of the letter under `key`, or None."""
    name = f"{file_stem(key)}.eml"
    return name if (Path(folder) / name).is_file() else None


def headers(folder: Path, key: str) -> Message | None:
    """Return the head of the letter under `key`, or None where none stands."""
    name = find(folder, key)
    if name is None:
        return None
    with (Path(folder) / name).open("rb") as file:
        return BytesParser(policy=policy.SMTP).parse(file, headersonly=True)


def keep(folder: Path, key: str, content: bytes) -> str:
    """Return the name under which the letter stands; a letter that stands there already is left as it is.

    The bytes are on disk before the name exists, so a crash leaves the whole letter or none. Refuses
    (DidNotHappen) what fails before the name exists; anything after that is unknown and raised as it is.
    """
    if not key:
        raise contract.DidNotHappen("A letter without a key can't be kept apart from others.")
    folder = Path(folder)
    final = folder / f"{file_stem(key)}.eml"
    try:
        draft = _draft(folder, final.stem, content)
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE}
        reason = f"The letter could not be written: {error.strerror or error}."
        raise contract.DidNotHappen(reason, retryable=full) from error
    try:
        _name(draft, final)
    finally:
        draft.unlink(missing_ok=True)
    _settle(folder)
    for left in folder.glob(f".{final.stem}.*.draft"):  # of a send that died; the letter stands now
        left.unlink(missing_ok=True)
    return final.name


def _draft(folder: Path, stem: str, content: bytes) -> Path:
    """Return a file with the bytes, safely on disk."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{stem}.", suffix=".draft", dir=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return Path(name)


def _name(draft: Path, final: Path) -> None:
    """Give the draft its name, unless the letter stands there already; refuse (DidNotHappen) what fails."""
    try:
        os.link(draft, final)
    except OSError as error:
        if final.exists():
            return  # named by another send, or by this one although the folder's server lost the answer
        reason = f"The letter could not be put in place: {error.strerror or error}."
        raise contract.DidNotHappen(reason) from error


def _settle(folder: Path) -> None:
    """Write the folder's entry to disk, where the system can do that."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
