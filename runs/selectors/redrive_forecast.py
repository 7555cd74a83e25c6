"""What going on from a checkpoint does again, what it doesn't, and what that costs."""

from __future__ import annotations

from django.db.models import Q

from runs import lifecycle, models
from runs.models import paths, taken
from runs.providers import registry as providers
from runs.selectors import failures, now, past, redrive_models, tools

SHOWN = 100
SKIPPED, GONE, KEPT, ASKED, AGAIN, PASSED = "skipped", "gone", "kept", "asked", "again", "passed"
_COUNTED = {
    SKIPPED: "{} done before and not run again",
    GONE: "{} done before and taken back since: not run again, so go on from an earlier checkpoint if it is needed",
    KEPT: "{} proposed again and answered with what was done",
    ASKED: "{} proposed again and asked about, because it stands otherwise",
    AGAIN: "{} run again",
    PASSED: "{} already passed over",
}


def last_good(run: models.Run) -> int | None:
    """Return the newest checkpoint before a failed run's failure; None where the newest of all is as good."""
    own = failures.last_good(run)
    if own is not None:
        return own
    position = _failed_at(run)
    if position is None:
        return None
    rows = paths.checkpoints(run).filter(position__lt=position).order_by("-position")
    return rows.values_list("number", flat=True).first()


def failed_step(run: models.Run) -> str:
    """Return the title of the step that made the run fail, or nothing."""
    row = _failed(run)
    return "" if row is None else f"Step {row.order + 1}: {row.title}"


def forecast(
    run: models.Run, line: models.Entry, left: list[models.Occurrence]
) -> redrive_models.Forecast | None:
    """Return what becomes of the plan's steps as they stand now, from the checkpoint at `line` on."""
    if not run.plan_version:
        return None
    rows = list(models.PlanStep.objects.filter(run=run).order_by("order"))
    standing = _standing(run, line, left)
    gone = _gone(run)
    counts = dict.fromkeys(_COUNTED, 0)
    found: list[redrive_models.Ahead] = []
    for row in rows:
        word, words = _word(row, line.position, standing.get(row.key, ""))
        if word == SKIPPED and (row.reply_position, row.call_index) in gone:
            word, words = GONE, "Done before and taken back since: not run again"
        counts[word] += 1
        if len(found) < SHOWN:
            name = str((row.body or {}).get("tool") or "")
            tool = tools.find(name) if name else None
            found.append(
                redrive_models.Ahead(
                    number=row.order + 1,
                    title=row.title,
                    word=word,
                    words=words,
                    tier=tool.risk() if tool else None,
                )
            )
    said = [words.format(counts[word]) for word, words in _COUNTED.items() if counts[word]]
    return redrive_models.Forecast(
        steps=tuple(found),
        more=len(rows) - len(found),
        summary=f"Of {len(rows)} steps: {', '.join(said)}.",
        cost=_cost(run, line),
    )


def _standing(run: models.Run, line: models.Entry, left: list[models.Occurrence]) -> dict[str, str]:
    """Return for each step whether it is answered with what stands (KEPT), or asked about since that is otherwise.

    It looks at the arguments that will be proposed: the agent's own, or the corrected ones where a person had changed
    them before the checkpoint.
    """
    rows = [row for row in left if row.state == lifecycle.Occurrence.STANDING]
    known, found = taken.arguments(rows), {}
    changed = _changed_by(run, line)
    for action in models.Action.objects.filter(run=run).prefetch_related("revisions").order_by("pk"):
        first = next((row for row in action.revisions.all() if row.number == 1), None)
        again = (action.reply_position, action.call_index) not in changed
        digest = first.digest if first is not None and again else action.digest
        identity = action.proposed_identity if action.proposed_identity and again else action.identity_digest
        same = [row for row in rows if row.identity_digest == identity]
        if any(digest in known[row.pk] for row in same):
            found[action.step] = KEPT
        elif same or action.occurrence_id in known:
            found[action.step] = ASKED
    return found


def _gone(run: models.Run) -> set[tuple[int, int]]:
    """Return the calls of the lineage whose effect was taken back."""
    back = models.Occurrence.objects.filter(root=run.root_id, state=lifecycle.Occurrence.UNDONE)
    used = models.Action.objects.filter(occurrence__in=list(back.values_list("pk", flat=True)), undo_of=None)
    return set(used.values_list("reply_position", "call_index"))


def _changed_by(run: models.Run, line: models.Entry) -> set[tuple[int, int]]:
    """Return the calls that people had changed at the checkpoint."""
    lines = models.Entry.objects.filter(
        run=line.run_id, kind=lifecycle.EntryKind.REVISION, position__lte=line.position
    )
    calls = [found.content["call"] for found in lines] if line.run_id == run.pk else []
    return {(position, index) for position, index in calls}


def _word(row: models.PlanStep, position: int, standing: str) -> tuple[str, str]:
    """Return what becomes of a step: it is behind the checkpoint, or comes again."""
    behind = row.result_position is not None and row.result_position <= position
    if behind and row.state == lifecycle.Step.DONE:
        return SKIPPED, "Done before, not run again"
    if behind and row.state != lifecycle.Step.FAILED:
        return PASSED, "Passed over before"
    if standing == KEPT:
        return KEPT, "Stands already: not done a second time"
    if standing == ASKED:
        return ASKED, "Stands otherwise: asked about before anything is done"
    return AGAIN, "Tried again" if row.state == lifecycle.Step.FAILED else "Runs"


def _cost(run: models.Run, line: models.Entry) -> str:
    """Return what the part that runs again has cost the first time, in words."""
    if providers.follows_plan(run.agent_version.provider):
        return "No model is called, so running it again costs nothing but the tools' own prices."
    if not run.cost_known:
        return "What it costs isn't known: the model's price is unknown."
    at = past.counted(line.counters)
    spent, turns = run.cost_micro - at.cost_micro, run.steps - at.steps
    amount = now.dollars(max(spent, 0), known=True)
    return f"The {turns} turn{'' if turns == 1 else 's'} after this checkpoint cost ${amount:.2f} the first time."


def _failed(run: models.Run) -> models.PlanStep | None:
    if run.status != lifecycle.Run.FAILED:
        return None
    rows = models.PlanStep.objects.filter(run=run, state=lifecycle.Step.FAILED).order_by("order")[:SHOWN]
    return next((row for row in rows if (row.body or {}).get("required", True)), None)


def _failed_at(run: models.Run) -> int | None:
    row = _failed(run)
    return None if row is None else row.result_position


def reviews_of(occurrences: list[models.Occurrence]) -> dict[int, int]:
    """Return the open question about each effect that may or may not have happened."""
    rows = models.Review.objects.filter(
        Q(action__occurrence__in=occurrences),
        kind=lifecycle.ReviewKind.IN_DOUBT,
        status=lifecycle.Review.OPEN,
    )
    return dict(rows.values_list("action__occurrence_id", "pk"))
