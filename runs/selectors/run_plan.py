"""The run's plan with the state of each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import TextField
from django.db.models.functions import Cast, Left

from runs import exact, lifecycle, models, rights
from runs.selectors import deciding, keyset, ledger, plan_editor, run_header, run_models, tools

SIZE = 100
BODY = 20_000

_OUTCOMES: dict[str, str] = {
    lifecycle.Action.REJECTED: "Rejected",
    lifecycle.Action.EXPIRED: "Nobody answered in time",
    lifecycle.Action.DENIED: "Blocked by policy",
    lifecycle.Action.SUPERSEDED: "Overtaken",
    lifecycle.Action.ABSORBED: "Done earlier, not repeated",
    lifecycle.Action.IN_DOUBT: "May have happened; a person is asked",
    lifecycle.Action.ABANDONED: "Never found out",
    lifecycle.Action.SIMULATED: "Simulated, nothing was done",
}


def page(
    run: models.Run,
    viewer: deciding.Viewer,
    params: Mapping[str, str],
) -> run_models.PlanPage:
    """Return one page of the plan's steps."""
    rows, paging = keyset.page(
        models.PlanStep.objects.filter(run=run)
        .defer("body")
        .annotate(text=Left(Cast("body", TextField()), BODY)),
        by=("order",),
        params=params,
        size=SIZE,
        descending=False,
    )
    version = (
        models.Plan.objects.filter(run=run)
        .defer("steps")
        .select_related("author")
        .order_by("-version")
        .first()
    )
    keys = [row.key for row in rows]
    actions = {
        action.step: action
        for action in models.Action.objects.filter(run=run, step__in=keys)
        .select_related("occurrence__owner")
        .defer("preview", "precondition", "terms", "identity")
        .order_by("id")
    }
    reviews = dict(
        models.Review.objects.filter(action__in=[action.pk for action in actions.values()])
        .order_by("id")
        .values_list("action_id", "pk")
    )
    receipts = ledger.receipts(list(actions.values()))
    agent = run.agent_version.agent
    return run_models.PlanPage(
        header=run_header.header(run, viewer, tab="run-plan"),
        version=version.version if version else 0,
        author=version.author.display() if version and version.author else agent.title or agent.name,
        made_at=version.created_at if version else None,
        steps=tuple(_step(row, actions.get(row.key), reviews, receipts) for row in rows),
        page=paging,
        may_edit=viewer.may(rights.Act.EDIT_PLAN) and not plan_editor.blocked(run),
        blocked=plan_editor.blocked(run) if viewer.may(rights.Act.EDIT_PLAN) else "",
    )


def _step(
    row: Any,
    action: models.Action | None,
    reviews: Mapping[int, int],
    receipts: Mapping[int, Mapping[str, Any]],
) -> run_models.PlanStep:
    body = exact.stored(row.text) if len(row.text) < BODY else {}
    tool_name = str(body.get("tool") or "")
    tool = tools.find(tool_name)
    arguments = body.get("with")
    return run_models.PlanStep(
        number=row.order + 1,
        title=row.title,
        state=row.state,
        note=str(body.get("note") or ""),
        tool=tools.title(tool_name) if tool_name else "",
        tier=action.tier if action else tool.risk() if tool else None,
        guards=_guards(body),
        gate="Waits for approval" if action and action.status == lifecycle.Action.HELD else "",
        outcome=_outcome(action, receipts),
        review_id=reviews.get(action.pk) if action else None,
        arguments=exact.canonical(arguments, limit=None) if isinstance(arguments, Mapping) else "",
    )


def _guards(body: Mapping[str, Any]) -> tuple[str, ...]:
    found = {
        name: guard.get("by") for name in ("gate", "lock") if isinstance(guard := body.get(name), Mapping)
    }
    if body.get("gate") is True:
        return ("Somebody is asked first",)
    said = {"gate": "{} wants to be asked first", "lock": "Locked by {}"}
    return tuple(said[name].format(by) for name, by in found.items() if by)


def _outcome(action: models.Action | None, receipts: Mapping[int, Mapping[str, Any]]) -> str:
    if action is None:
        return ""
    if action.status == lifecycle.Action.SUCCEEDED:
        return str(receipts.get(action.pk, {}).get("summary") or "Done")
    if action.status == lifecycle.Action.FAILED:
        return f"Did not happen: {action.error}"
    return _OUTCOMES.get(action.status, "")
