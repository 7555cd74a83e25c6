"""The files that a question's arguments name: each by name, size and digest, as they were kept at the proposal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runs import models
from runs.selectors import review_models


def attachments(arguments: Any) -> tuple[review_models.Attachment, ...]:
    """Return the files among the arguments, in one query if there are any."""
    named = list(dict.fromkeys(_named(arguments)))
    if not named:
        return ()
    rows = models.Blob.objects.filter(sha256__in=[sha256 for _, sha256 in named])
    sizes = dict(rows.values_list("sha256", "size"))
    return tuple(
        review_models.Attachment(name=path, size=sizes[sha256], sha256=sha256)
        for path, sha256 in named
        if sha256 in sizes
    )


def _named(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        if set(value) == {"path", "sha256"} and all(isinstance(part, str) for part in value.values()):
            yield value["path"], value["sha256"]
            return
        for inner in value.values():
            yield from _named(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner)
