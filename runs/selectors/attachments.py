"""The files that lines and receipts name: name, size, digest, and the head of a table; never their whole content."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import BinaryField, F, Func

from runs import models
from runs.tools import filerefs

Key = TypeVar("Key")
MOST = 20
"""Files of one line that are shown; the stored line names them all."""
HEAD = 16_384
ROWS, COLUMNS, CELL = 8, 8, 80
IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")

Table = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """One file. `kept`: its bytes are here."""

    name: str
    sha256: str
    run_id: int  # whose log names it
    size: int = 0
    kept: bool = False
    image: bool = False
    head: Table = ()  # of a CSV file: its first rows
    more: bool = False  # there are further rows or columns


def of(values: Mapping[Key, Any], *, run_id: int, heads: bool = False) -> dict[Key, tuple[Attachment, ...]]:
    """Return the files that each value names, in one query if there are any and one more for the heads of tables."""
    found = {key: list(dict.fromkeys(filerefs.named(value)))[:MOST] for key, value in values.items()}
    digests = {sha256 for refs in found.values() for _, sha256 in refs}
    if not digests:
        return {}
    blobs = models.Blob.objects.filter(
        sha256__in=[digest for digest in digests if len(digest) == 64 and _hex(digest)]
    )
    sizes = dict(blobs.values_list("sha256", "size"))
    tables = {sha256 for refs in found.values() for name, sha256 in refs if name.lower().endswith(".csv")}
    known = _heads(tables) if heads and tables else {}
    return {
        key: tuple(_attachment(name, sha256, run_id, sizes, known) for name, sha256 in refs)
        for key, refs in found.items()
        if refs
    }


def _hex(text: str) -> bool:
    return all(sign in "0123456789abcdef" for sign in text)


def _attachment(
    name: str, sha256: str, run_id: int, sizes: Mapping[str, int], heads: Mapping[str, bytes]
) -> Attachment:
    size = sizes.get(sha256)
    head, more = table(heads[sha256], whole=(size or 0) <= HEAD) if sha256 in heads else ((), False)
    return Attachment(
        name=name,
        sha256=sha256,
        run_id=run_id,
        size=size or 0,
        kept=size is not None,
        image=size is not None and name.lower().endswith(IMAGES),
        head=head,
        more=more,
    )


def _heads(digests: set[str]) -> dict[str, bytes]:
    beginning = Func(F("content"), 1, HEAD, function="substring", output_field=BinaryField())
    rows = models.Blob.objects.filter(sha256__in=[digest for digest in digests if _hex(digest)])
    return {
        sha256: bytes(head) for sha256, head in rows.annotate(head=beginning).values_list("sha256", "head")
    }


def table(content: bytes, *, whole: bool) -> tuple[Table, bool]:
    """Return the first rows of a CSV file, cut to what a page holds, and whether there is more."""
    text = content.decode("utf-8-sig", "replace")
    if not whole:
        text = text[: text.rfind("\n") + 1]
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    rows: list[tuple[str, ...]] = []
    more = not whole
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if len(rows) > ROWS:
                more = True
                break
            more = more or len(row) > COLUMNS
            rows.append(
                tuple(cell if len(cell) <= CELL else f"{cell[: CELL - 1]}…" for cell in row[:COLUMNS])
            )
    except csv.Error:
        return (), True
    return tuple(rows), more
