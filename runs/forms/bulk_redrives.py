"""The form to go on with many failed runs: which are ticked, from which checkpoint each, and why."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import QueryDict

from runs.forms.redrives import number
from runs.transitions.bulk_redrives import Wish


@dataclass(frozen=True, kw_only=True)
class Given:
    """The form as it was sent."""

    cause: str
    reason: str
    wishes: tuple[Wish, ...]
    tokens: dict[int, str]


def read(post: QueryDict) -> Given:
    """Return what was sent; a line that can't be read is left out."""
    ids = [found for text in post.getlist("run") if (found := number(text)) is not None]
    tokens = {
        found: text
        for name, text in post.items()
        if name.startswith("token.")
        and (found := number(name.removeprefix("token."))) is not None
        and isinstance(text, str)
    }
    return Given(
        cause=post.get("cause", "")[:12],
        reason=post.get("reason", ""),
        wishes=tuple(
            Wish(
                run_id=run_id, checkpoint=number(post.get(f"checkpoint.{run_id}")) or 0, token=tokens[run_id]
            )
            for run_id in dict.fromkeys(ids)
            if run_id in tokens
        ),
        tokens=tokens,
    )
