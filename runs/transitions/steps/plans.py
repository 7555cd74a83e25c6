"""New plan versions, written with the reply that asked for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import F

from runs import exact, lifecycle, models, plan_changes
from runs.state import CallId
from runs.transitions import log, texts
from runs.transitions.steps import closing, guards, questions
from runs.transitions.steps._statement import Work


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of plan: all open steps anew, `replace` exchanged for `steps`, `skip` skipped, or these `done`."""

    steps: tuple[Mapping[str, Any], ...] = ()
    replace: str | None = None
    skip: str | None = None
    done: tuple[str, ...] = ()
    reason: str = ""


def apply(work: Work, call: CallId, change: Change) -> None:
    """Write the change and close its control call."""
    if change.skip is not None:
        mark(work, change.skip, lifecycle.Step.SKIPPED)
        text = f"Step {change.skip} skipped."
    elif change.done:
        for name in change.done:
            mark(work, name, lifecycle.Step.DONE)
        text = f"Done: {', '.join(change.done)}."
    else:
        kept = _kept(work.run, change)
        write(work.run, work.log, replace(change, steps=(*_over(work.run, change), *kept.steps)))
        text = " ".join([f"Plan version {work.run.plan_version} saved.", *kept.notes])
    closing.close(
        work, call, step=None, status=lifecycle.Action.SUCCEEDED, text=text, ran=False, boundary=None
    )


def step(raw: Any, number: int) -> dict[str, Any]:
    """Return one step as a version holds it; refuse (ValueError) with one sentence what isn't one."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("id"), str) or not raw["id"]:
        raise ValueError(f"step {number} needs an id.")
    if not plan_changes.is_id(raw["id"]):
        raise ValueError(
            f"the id of step {number} is longer than 120 characters or holds one that can't be stored."
        )
    if not isinstance(raw.get("title"), str) or not isinstance(raw.get("body"), Mapping):
        raise ValueError(f"step {raw['id']!r} needs a title and a body.")
    group = raw["body"].get("group", "")
    if group and not (isinstance(group, str) and plan_changes.is_id(group)):
        raise ValueError(f"step {raw['id']!r} can't belong to the group {group!r}.")
    title = texts.storable(
        raw["title"], limit=300
    )  # in the log as in the row: the one is folded from the other
    return {"id": raw["id"], "title": title, "body": dict(raw["body"])}


def mark(work: Work, step: str, state: str) -> None:
    """Append the mark of one step's progress and move its projection."""
    work.log.append(lifecycle.EntryKind.MARK, {"step": step, "state": state})
    models.PlanStep.objects.filter(run=work.run, key=step).update(state=state)


def supersede(work: Work, calls: Iterable[tuple[CallId, str | None]], text: str) -> None:
    """Close the open calls of changed steps before anything of them starts; their steps are to do again.

    What was sent stays as it is: nobody can change it any more.
    """
    for call, step in calls:
        rows = models.Action.objects.filter(run=work.run, reply_position=call[0], call_index=call[1])
        if not rows.exists():  # a read, or a control call
            if questions.overtaken(work, call):
                continue
            closing.close(
                work, call, step=step, status=lifecycle.Action.SUPERSEDED, text=text, ran=False, boundary=None,
                step_state=lifecycle.Step.PENDING,
            )  # fmt: skip
            continue
        action = work.action(call)
        if action.status not in {lifecycle.Action.PROPOSED, lifecycle.Action.HELD, lifecycle.Action.APPROVED}:
            continue
        asked = models.Review.objects.filter(
            action=action, kind=lifecycle.ReviewKind.ACTION, consumed_by__isnull=True
        )
        asked.filter(status__in=(lifecycle.Review.OPEN, lifecycle.Review.APPROVED)).update(
            status=lifecycle.Review.SUPERSEDED, closed_at=work.now
        )
        work.inbox_changed = True
        work.move(action, lifecycle.Action.SUPERSEDED, not_before=None, blocked_by=None)
        closing.close_effect(
            work, action, status=action.status, text=text, ran=False, step_state=lifecycle.Step.PENDING
        )


def definitions(run: models.Run, **only: Any) -> list[dict[str, Any]]:
    """Return the steps of the current plan, or some of them, as a version holds them."""
    rows = models.PlanStep.objects.filter(run=run, **only).order_by("order").only("key", "title", "body")
    return [{"id": row.key, "title": row.title, "body": row.body} for row in rows]


def _over(run: models.Run, change: Change) -> list[dict[str, Any]]:
    """Return the steps that are over, which stay in a whole new plan unless it names them itself."""
    if change.replace is not None or not run.plan_version:
        return []
    named = {step["id"] for step in change.steps}
    over = definitions(run, state__in=set(lifecycle.Step) - {lifecycle.Step.PENDING, lifecycle.Step.ACTIVE})
    return [step for step in over if step["id"] not in named]


def _kept(run: models.Run, change: Change) -> guards.Kept:
    """Return the agent's new steps with what people guarded kept."""
    if change.replace is not None:
        return guards.in_place(definitions(run, key=change.replace)[0], change.steps)
    waiting = definitions(run, state__in=(lifecycle.Step.PENDING, lifecycle.Step.ACTIVE))
    return guards.whole(waiting, change.steps)


def write(
    run: models.Run,
    lines: log.Log,
    change: Change,
    *,
    author: models.User | None = None,
    boundary: str | None = None,
) -> models.Plan:
    """Return the next version of the locked run's plan, written to the log and to the rows of the current plan."""
    run.plan_version += 1
    steps = [{"id": raw["id"], "title": raw["title"], "body": raw["body"]} for raw in change.steps]
    line = lines.append(
        lifecycle.EntryKind.PLAN,
        {
            "version": run.plan_version,
            "replace": change.replace,
            "steps": steps,
            "reason": change.reason,
            "author": author.get_username() if author else None,
        },
        boundary=boundary,
    )
    _project(run, change.replace, steps)
    whole = definitions(run)
    return models.Plan.objects.create(
        run=run,
        version=run.plan_version,
        steps=whole,
        digest=exact.digest_of(whole),
        author=author,
        reason=texts.storable(change.reason),
        position=line.position,
    )


def _project(run: models.Run, replaced: str | None, steps: list[dict[str, Any]]) -> None:
    """Bring the rows of the current plan up to date; steps keep their state by id."""
    rows = models.PlanStep.objects.filter(run=run)
    first = 0
    if replaced is not None:
        old = rows.get(key=replaced)
        first = old.order
        old.delete()
        rows.filter(order__gt=first).update(order=F("order") + len(steps) - 1)
    else:
        known = {row.key: row for row in rows}
        rows.delete()
        models.PlanStep.objects.bulk_create(
            _row(run, index, raw, known.get(raw["id"])) for index, raw in enumerate(steps)
        )
        return
    models.PlanStep.objects.bulk_create(
        _row(run, first + index, raw, None) for index, raw in enumerate(steps)
    )


def _row(
    run: models.Run, order: int, raw: Mapping[str, Any], known: models.PlanStep | None
) -> models.PlanStep:
    row = models.PlanStep(
        run=run,
        order=order,
        key=raw["id"],
        title=texts.storable(raw["title"], limit=300),
        group=raw["body"].get("group") or "",
        body=raw["body"],
    )
    if known is not None:
        row.state, row.reply_position = known.state, known.reply_position
        row.call_index, row.result_position = known.call_index, known.result_position
    return row
