"""What rules and questions compare actions by: whom or what they reach, and what of their run counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import exact
from runs.models.run import Run


def target(tool: str, preview: Mapping[str, Any] | None) -> str | None:
    """Return the digest of the tool and of whom or what this preview says it reaches; None where it names nothing."""
    named = str((preview or {}).get("target") or "").strip().casefold()
    return exact.digest_of([tool, named]) if named else None


def of_run(run: Run) -> dict[str, Any]:
    """Return what a condition of the policy may look at of a run."""
    return {
        "id": run.pk,
        "title": run.title,
        "agent": run.agent_version.agent.name,
        "mode": run.mode,
        "labels": run.labels,
        "input": run.input,
        "attempt": len(run.path) + 1,
        "started_by": run.created_by.get_username(),
    }


def labels(run: Run) -> tuple[tuple[str, str], ...]:
    """Return the run's labels, by name."""
    return tuple(sorted(run.labels.items())) if run.labels else ()
