"""What each result carries: the same for every product that is measured."""

from __future__ import annotations

import random
import string
import zlib

PAYLOAD = 1000
_POOL = "".join(random.Random(1).choices(string.ascii_letters, k=200_000))


def payload(name: str) -> str:
    """Return 1,000 characters that hardly compress; the same for the same name."""
    start = zlib.crc32(name.encode()) % (len(_POOL) - PAYLOAD)
    return _POOL[start : start + PAYLOAD]
