"""The files that a question's arguments name: each by name, size and digest, as they were kept at the proposal."""

from __future__ import annotations

from typing import Any

from runs import models
from runs.selectors import review_models
from runs.tools import filerefs


def attachments(arguments: Any) -> tuple[review_models.Attachment, ...]:
    """Return the files among the arguments, in one query if there are any."""
    named = list(dict.fromkeys(filerefs.named(arguments)))
    if not named:
        return ()
    rows = models.Blob.objects.filter(sha256__in=[sha256 for _, sha256 in named])
    sizes = dict(rows.values_list("sha256", "size"))
    return tuple(
        review_models.Attachment(name=path, size=sizes[sha256], sha256=sha256)
        for path, sha256 in named
        if sha256 in sizes
    )
