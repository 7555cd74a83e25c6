"""The versions of a run's plan: who wrote them and why, and two of them side by side."""

from __future__ import annotations

from collections.abc import Mapping

from runs import models
from runs.models import paths
from runs.selectors import keyset, plan_compare, plan_models

SIZE = 50


def page(run: models.Run, params: Mapping[str, str]) -> plan_models.VersionsPage:
    """Return the versions, newest first, and the two that `params` names: else the newest and the one before it."""
    rows, paging = keyset.page(
        paths.plans(run).defer("steps").select_related("author"), by=("version",), params=params, size=SIZE
    )
    agent = run.agent_version.agent
    new = _number(params.get("new"), run.plan_version)
    old = _number(params.get("old"), new - 1)
    before, after = paths.plan(run, old), paths.plan(run, new)
    return plan_models.VersionsPage(
        run_id=run.pk,
        title=run.title,
        versions=tuple(
            plan_models.Version(
                number=row.version,
                author=row.author.display() if row.author else agent.title or agent.name,
                by_person=row.author is not None,
                reason=row.reason,
                at=row.created_at,
                run_id=row.run_id,
                current=row.version == run.plan_version,
            )
            for row in rows
        ),
        page=paging,
        old=old,
        new=new,
        comparison=plan_compare.comparison(f"From version {old} to version {new}", before.steps, after.steps)
        if before is not None and after is not None
        else None,
    )


def _number(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isdecimal() and len(text) < 7 else default
