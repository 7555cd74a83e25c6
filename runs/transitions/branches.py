"""Trying something beside a run, and beginning separate work: the branches that take nobody's place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError

from runs import exact, lifecycle, models
from runs.models import paths
from runs.state import CallId
from runs.transitions import attempts, corrections, cuts, inbox, redrives, retention, starts, texts
from runs.transitions import instructions as instructions_
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, Stale


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """Effects that separate work will not know: it would do them again. `digest` names just these, as they are."""

    occurrences: tuple[models.Occurrence, ...]
    digest: str


@attempts.noted("run.fork", "run {}")
def fork(
    run_id: int,
    *,
    checkpoint: int,
    by: Actor,
    token: str,
    reason: str = "",
    input: Mapping[str, Any] | None = None,
    arguments: Mapping[CallId, Any] | None = None,
    instructions: str | None = None,
) -> models.Run:
    """Return a dry run that goes on from the checkpoint beside whatever else the lineage does.

    It reads for real, takes over the receipts of what stands, and simulates every other effect by its preview. The
    same token again returns the run it made. It needs no reason, for nothing of the run changes by it. Refuses
    NotYours, Invalid and Stale as a re-drive does.
    """
    user = redrives.entitled(by)
    token, reason = texts.token(token), texts.typed(reason, "reason")
    run = models.Run.objects.get(pk=run_id)
    cut = cuts.find(run, checkpoint, live=False)
    corrected = corrections.input_of(input)
    wishes = corrections.arguments_of(cut, arguments or {})

    def make() -> models.Run:
        retention.refuse_sealed(inbox.lock(run.root_id))  # since the cut was read
        version = instructions_.version_with(cut.holder.agent_version, instructions, by=user)
        told = instructions_.told(cut.holder.agent_version, version)
        new = cuts.branch(
            cut,
            root=run.root_id,
            mode=models.Run.Mode.DRY_RUN,
            code="forked",
            title=run.title,
            user=user,
            token=token,
            reason=reason,
            input=corrected,
            content={"arguments": wishes, **told},
            number=cuts.next_number(),
            version=version,
        )
        redrives.record(new, by=by, act="run.forked", content={"reason": reason, **told})
        return new

    return _once(make, token=token, user=user, point="fork")


@attempts.noted("run.take_over", "run {}")
def take_over(fork_id: int, *, reason: str, by: Actor, token: str, seen: int | None = None) -> models.Run:
    """Return a re-drive from the point where the fork began, with the fork's corrections.

    It never goes on from the fork itself, where effects were simulated. A dry run of a whole run is started anew, live
    and on the same input. Refuses Invalid for a run that isn't a dry run, and whatever a re-drive or a start refuses.
    """
    run = models.Run.objects.get(pk=fork_id)
    if run.mode != models.Run.Mode.DRY_RUN:
        raise Invalid("Only a dry run can be taken over.")
    if not run.path:
        agent = run.agent_version.agent.name
        return starts.start_run(agent, input=run.input, title=run.title, by=by, token=token)
    own = models.Entry.objects.filter(run=run).order_by("position")
    first = own.get(position=paths.cut(run) + 1)
    correction = own.filter(kind=lifecycle.EntryKind.CORRECTION).first()
    holder, checkpoint = first.content["from"]
    return redrives.redrive(
        holder,
        checkpoint=checkpoint,
        reason=reason,
        by=by,
        token=token,
        input=correction.content["input"] if correction else None,
        arguments={(place[0], place[1]): place[2] for place in first.content["arguments"]},
        instructions=run.agent_version.instructions if "instructions" in first.content else None,
        seen=seen,
    )


def earlier_effects(run_id: int) -> Earlier:
    """Return what stands, is open or unknown in the lineages that the run's path leads through."""
    run = models.Run.objects.get(pk=run_id)
    ids = [run.pk, *(ancestor for ancestor, _ in run.path)]
    roots = set(models.Run.objects.filter(pk__in=ids).values_list("root_id", flat=True))
    rows = tuple(paths.in_the_world(roots))
    return Earlier(occurrences=rows, digest=exact.link(*(f"{row.pk} {row.state}" for row in rows)))


@attempts.noted("run.separate", "run {}")
def separate(
    run_id: int,
    *,
    checkpoint: int,
    reason: str,
    acknowledged: str,
    by: Actor,
    token: str,
    title: str = "",
    input: Mapping[str, Any] | None = None,
    arguments: Mapping[CallId, Any] | None = None,
) -> models.Run:
    """Return a live run of a lineage of its own that goes on from the checkpoint.

    Nothing of the old lineage is absorbed: whoever begins it has seen the list of earlier effects, and names its
    digest. The same token again returns the run it made. Refuses NotYours, Invalid, and Stale when the list has
    changed since it was seen.
    """
    user = redrives.entitled(by)
    token, reason = texts.token(token), redrives.why(reason)
    run = models.Run.objects.get(pk=run_id)
    cut = cuts.find(run, checkpoint)
    corrected = corrections.input_of(input)
    wishes = corrections.arguments_of(cut, arguments or {})

    def make() -> models.Run:
        retention.refuse_sealed(inbox.lock(run.root_id))  # since the cut was read
        earlier = earlier_effects(run_id)
        if earlier.digest != acknowledged:
            count = len(earlier.occurrences)
            raise Stale(
                f"{count} earlier {'effect' if count == 1 else 'effects'} would not be known to separate work; "
                "look at the list as it is now, and confirm it."
            )
        new = cuts.branch(
            cut,
            root=None,
            mode=models.Run.Mode.LIVE,
            code="separated",
            title=texts.typed(title, "title")[:200] or run.title,
            user=user,
            token=token,
            reason=reason,
            input=corrected,
            content={"arguments": wishes, "earlier": earlier.digest},
            number=cuts.next_number(),
        )
        content = {"reason": reason, "earlier": earlier.digest}
        redrives.record(new, by=by, act="run.separated", content=content)
        return new

    return _once(make, token=token, user=user, point="separate")


def _once(make: Callable[[], models.Run], *, token: str, user: models.User, point: str) -> models.Run:
    """Return the run that `make` makes in one commit, or the one that the same form has made before."""
    known = models.Run.objects.filter(start_token=token).first()
    if known is None:
        try:
            with committing(point):
                return make()
        except IntegrityError:
            # The same form sent twice at once: the other one made the run.
            known = models.Run.objects.filter(start_token=token).first()
            if known is None:
                raise
    if known.created_by_id != user.pk or not known.path:
        raise Stale("This form was used already; load the page again.")
    return known
