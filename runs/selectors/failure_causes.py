"""Failed runs by their cause, as far as somebody still has to say what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass

from runs import causes, lifecycle, models
from runs.models import scopes
from runs.selectors import deciding

MOST = 2_000
"""So many open failures are looked at, the newest first: what was answered isn't among them."""


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Failures that read the same but for what is particular about each run."""

    key: str
    words: str
    runs: tuple[int, ...]  # newest first


def by_cause(viewer: deciding.Viewer) -> tuple[Cause, ...]:
    """Return the causes, the most frequent first."""
    rows = (
        models.Review.objects.filter(
            scopes.seen(viewer.user, "run__agent_version__agent"),
            kind=lifecycle.ReviewKind.FAILURE,
            status=lifecycle.Review.OPEN,
            run__status=lifecycle.Run.FAILED,
            run__superseded_by=None,
            run__mode=models.Run.Mode.LIVE,
            title__startswith="Failed:",  # others ask about the world, not about what becomes of the run
        )
        .order_by("-run_id")
        .values_list("run_id", "run__error")[:MOST]
    )
    found: dict[str, list[int]] = {}
    words: dict[str, str] = {}
    for run_id, error in dict(rows).items():
        name = causes.key(error)
        words.setdefault(name, causes.normalised(error))
        found.setdefault(name, []).append(run_id)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), words[item[0]]))
    return tuple(Cause(key=name, words=words[name], runs=tuple(runs)) for name, runs in ordered)
