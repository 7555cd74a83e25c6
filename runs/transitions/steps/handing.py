"""A hand-off's effect: the intent's own commit makes the child, so it is never in doubt (rule 1.10).

The parent is locked before the child, here and where the child's end is given back, and nobody who holds it waits for
the child: making a child's next attempt needs its parent's row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs import exact, hints, lifecycle, models
from runs.transitions import audit, cuts, inbox, indexing, starts
from runs.transitions.actor import ENGINE
from runs.transitions.refusals import Changed
from runs.transitions.steps._statement import Work

FIRST = 1
"""The checkpoint at which a run is created: work that is handed over once more begins there again."""


@dataclass(frozen=True, kw_only=True)
class HandsTo:
    """To which version of an agent what is handed; `earlier` is its last attempt, if that came to nothing."""

    version: int
    subject: str
    input: Mapping[str, Any]
    earlier: int | None = None


def lock_earlier(wish: HandsTo | None) -> models.Run | None:
    """Return the earlier attempt, locked right after its parent. Refuses Changed when it isn't the last, or goes on."""
    if wish is None or wish.earlier is None:
        return None
    run = inbox.try_lock(wish.earlier)
    if run is None:  # not waited for: who re-drives it needs the parent's row, which this commit holds
        raise Changed(f"somebody moves run {wish.earlier}")
    if run.superseded_by_id is not None or run.status not in lifecycle.RUN_ENDED:
        raise Changed(f"run {run.pk} goes on with the same work")
    return run


def begin(work: Work, action: models.Action, wish: HandsTo, earlier: models.Run | None) -> models.Run:
    """Return the child: the first attempt of a lineage of its own, or the next one after `earlier`.

    The next attempt begins anew with the input that it is given now; what its lineage has done is absorbed.
    """
    parent, occurrence = work.run, action.occurrence
    assert occurrence is not None
    version = models.AgentVersion.objects.select_related("agent").get(pk=wish.version)
    agent = version.agent
    token = f"handed-{exact.digest_of([occurrence.root_id, occurrence.key])[:48]}"
    content: dict[str, Any] = {"parent": parent.pk, "occurrence": occurrence.pk}
    if earlier is None:
        child = starts.create(
            version,
            text=exact.canonical(dict(wish.input)),
            title=f"{agent.title}: {wish.subject}"[:200],
            user=parent.created_by,
            token=token,
            mode=parent.mode,
            labels=parent.labels,
            parent=parent,
            handed_by=occurrence,
        )
        indexing.run(child, agent)
        act = "run.started"
        content["agent"] = str(version)
        if parent.labels:
            content["labels"] = parent.labels
    else:
        number = cuts.next_number()
        earlier.superseded_by_id = number
        earlier.returned = True
        earlier.save(update_fields=["superseded_by", "returned"])
        corrected = None if exact.digest_of(dict(wish.input)) == earlier.input_digest else dict(wish.input)
        child = cuts.branch(
            cuts.find(earlier, FIRST),
            root=earlier.root_id,
            mode=models.Run.Mode.LIVE,
            code="redriven",
            title=earlier.title,
            user=parent.created_by,
            token=token,
            reason=f"Run {parent.pk} hands it over once more.",
            input=corrected,
            content={"supersedes": earlier.pk},
            number=number,
            version=version,
            parent=parent,
            handed_by=occurrence,
        )
        act = "run.redriven"
        content |= {"supersedes": earlier.pk, "path": child.path, "mode": child.mode}
    told = {**content, "root": child.root_id, "input": child.input_digest, "budget": child.budget}
    audit.append(act, actor=ENGINE, run=child, subject=f"run {child.pk}", content=told)
    hints.wake(child.pk)
    hints.changed(child.pk)
    return child
