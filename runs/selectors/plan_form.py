"""The plan as text that a person can change, while nobody works on the run."""

from __future__ import annotations

import json
import unicodedata

from runs import lifecycle, models, rights
from runs.selectors import deciding, run_models

_SHOWN_AS_CODE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def empty(run: models.Run, viewer: deciding.Viewer) -> run_models.PlanForm | None:
    """Return the form with the current plan, or None: not this person's, no plan yet, or the run has ended."""
    if not viewer.may(rights.Act.EDIT_PLAN) or run.plan_version == 0:
        return None
    if run.status in lifecycle.RUN_ENDED or run.stop_at is not None:
        return None
    if run.status not in {lifecycle.Run.PAUSED, lifecycle.Run.WAITING}:
        return run_models.PlanForm(base=run.plan_version, blocked="Pause the run to change its plan.")
    return run_models.PlanForm(base=run.plan_version, text=text(run))


def text(run: models.Run) -> str:
    """Return the steps as indented JSON; what can't be seen stands as its code."""
    rows = models.PlanStep.objects.filter(run=run).order_by("order").only("key", "title", "body")
    steps = [{"id": row.key, "title": row.title, "body": row.body} for row in rows]
    whole = json.dumps(steps, ensure_ascii=False, indent=2, sort_keys=True)
    return "".join(_visible(sign) for sign in whole)


def _visible(sign: str) -> str:
    if sign in "\n " or unicodedata.category(sign) not in _SHOWN_AS_CODE:
        return sign
    return json.dumps(sign)[1:-1]
