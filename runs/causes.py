"""The cause of a failure without what is particular about one run, so that failures of one cause are found: pure."""

from __future__ import annotations

import hashlib
import re

SHOWN = 200

_PARTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile("[\u201c\"'\u2018][^\u201d\"'\u2019]{1,200}[\u201d\"'\u2019]"), "“…”"),
    (re.compile(r"\b[a-z][a-z0-9+.-]{1,12}://\S+", re.IGNORECASE), "…"),
    (re.compile(r"\S+@\S+"), "…"),
    (re.compile(r"(?<![\w.])/[\w./-]{2,}"), "…"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b", re.IGNORECASE), "…"),
    (re.compile(r"\b[\w-]*\d[\w-]*(?:[.,:]\d+)*\b"), "#"),
)


def normalised(error: str) -> str:
    """Return the sentence with quoted texts, addresses, paths, digests and numbers taken out."""
    found = error
    for pattern, mark in _PARTS:
        found = pattern.sub(mark, found)
    found = " ".join(found.split())
    return found if len(found) <= SHOWN else f"{found[: SHOWN - 1]}…"


def key(error: str) -> str:
    """Return the short name of a cause, for an address."""
    return hashlib.sha256(normalised(error).encode("utf-8", "replace")).hexdigest()[:12]
