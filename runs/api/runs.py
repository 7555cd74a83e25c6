"""Runs: list, read, start, pause, resume, stop, go on from a checkpoint; agents; who asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import StringConstraints

from runs import access, inputs, models, rights
from runs.api import acts, door, shapes
from runs.models import paths
from runs.selectors import record_models, records
from runs.transitions import holds, redrives, starts
from runs.transitions.actor import Actor

router = Router()
Limit = Annotated[int, Query(ge=1, le=records.MOST)]
After = Annotated[int, Query(ge=0, le=2**31 - 1)]
Cursor = Annotated[str, StringConstraints(pattern="^([0-9]{1,18})?$")]
Only = Literal["", "running", "waiting", "paused", "failed", "done", "stopped"]


@router.get("/me", response=record_models.Me, operation_id="me", summary="Who asks, and what they may do")
def me(request: door.Request) -> HttpResponse:
    """The person behind the token, and what it is for."""
    access.see(request.user)
    return acts.answer(records.me(request.auth, door.viewer(request)))


@router.get(
    "/agents", response=record_models.Agents, operation_id="agents", summary="Agents that can be started"
)
def agents(request: door.Request) -> HttpResponse:
    """Each with the JSON Schema of its input; an input of format "file" goes under `files`."""
    access.see(request.user)
    return acts.answer(records.agents(door.viewer(request)))


@router.get("/runs", response=record_models.Runs, operation_id="list_runs", summary="List runs, newest first")
def listed(
    request: door.Request,
    only: Only = "",
    agent: shapes.Words = "",
    q: shapes.Words = "",
    label: shapes.Words = "",
    cursor: Cursor = "",
    limit: Limit = 50,
) -> HttpResponse:
    """`only` is a group of statuses, `q` words of the run and its questions, `label` a label as `name=value`."""
    access.see(request.user)
    return acts.answer(
        records.runs(
            door.viewer(request), only=only, agent=agent, q=q, label=label, cursor=cursor, limit=limit
        )
    )


@router.post("/runs", response={201: record_models.Run}, operation_id="start_run", summary="Start a run")
def start(request: door.Request, body: shapes.Start) -> HttpResponse:
    """Queued and due at once."""
    access.require(request.user, rights.Act.START)

    def act(by: Actor, token: str) -> int:
        agent = inputs.agent(body.agent, request.user)
        given = inputs.collect(agent, shapes.typed(body.input), shapes.read(body.files))
        title = body.title or agent.title
        mode = models.Run.Mode.DRY_RUN if body.dry_run else models.Run.Mode.LIVE
        run = starts.start_run(
            agent.name, input=given, title=title, by=by, token=token, mode=mode, labels=body.labels
        )
        return run.pk

    return acts.once(request, act, _shown(request), status=201)


@router.get("/runs/{int:run_id}", response=record_models.Run, operation_id="read_run", summary="Read a run")
def read(request: door.Request, run_id: int) -> HttpResponse:
    """As it stands now."""
    return acts.answer(records.run(access.run_for(request.user, run_id)))


@router.get(
    "/runs/{int:run_id}/log",
    response=record_models.Entries,
    operation_id="read_log",
    summary="Read a run's log",
)
def log(request: door.Request, run_id: int, after: After = 0, limit: Limit = 50) -> HttpResponse:
    """The lines after a position, oldest first. `next` is what to ask for later: nothing is passed over."""
    run = access.run_for(request.user, run_id)
    return acts.answer(records.log(run, after=after, limit=limit))


@router.get(
    "/runs/{int:run_id}/effects",
    response=record_models.Effects,
    operation_id="list_effects",
    summary="List effects",
)
def effects(request: door.Request, run_id: int, cursor: Cursor = "", limit: Limit = 50) -> HttpResponse:
    """What of the run reached the world outside, newest first, each effect once."""
    run = access.run_for(request.user, run_id)
    return acts.answer(records.effects(run, cursor=cursor, limit=limit))


@router.post(
    "/runs/{int:run_id}/pause", response=record_models.Run, operation_id="pause_run", summary="Pause a run"
)
def pause(request: door.Request, run_id: int, body: shapes.Reason) -> HttpResponse:
    """Held at its next safe point; nothing more is started until somebody resumes it."""
    run = _run(request, run_id, rights.Act.PAUSE)
    return acts.once(
        request, lambda by, _: holds.pause(run.pk, reason=body.reason, by=by).pk, _shown(request)
    )


@router.post(
    "/runs/{int:run_id}/resume", response=record_models.Run, operation_id="resume_run", summary="Resume a run"
)
def resume(request: door.Request, run_id: int, body: shapes.Nothing) -> HttpResponse:
    """It goes on from its newest checkpoint."""
    run = _run(request, run_id, rights.Act.RESUME)
    return acts.once(request, lambda by, _: holds.resume(run.pk, by=by).pk, _shown(request))


@router.post(
    "/runs/{int:run_id}/stop", response=record_models.Run, operation_id="stop_run", summary="Stop a run"
)
def stop(request: door.Request, run_id: int, body: shapes.Reason) -> HttpResponse:
    """Ended at its next safe point: what is under way finishes, nothing else starts."""
    run = _run(request, run_id, rights.Act.STOP)
    return acts.once(request, lambda by, _: holds.stop(run.pk, reason=body.reason, by=by).pk, _shown(request))


@router.post(
    "/runs/{int:run_id}/redrive",
    response={201: record_models.Run},
    operation_id="redrive_run",
    summary="Go on from a checkpoint",
)
def redrive(request: door.Request, run_id: int, body: shapes.Redrive) -> HttpResponse:
    """A new attempt in the place of the current one; what was done isn't done again."""
    run = _run(request, run_id, rights.Act.REDRIVE)

    def act(by: Actor, token: str) -> int:
        corrected = None
        if body.input or body.files:
            before = paths.input_at(run, body.checkpoint)
            files = shapes.read(body.files)
            corrected = inputs.correct(run.agent_version, before, shapes.typed(body.input), files)
        return redrives.redrive(
            run.pk,
            checkpoint=body.checkpoint,
            reason=body.reason,
            input=corrected,
            arguments={call.call: call.arguments for call in body.arguments},
            dispositions=body.dispositions,
            instructions=body.instructions,
            raises={str(name): amount for name, amount in body.raises.items()},
            hold=body.hold,
            seen=body.seen,
            by=by,
            token=token,
        ).pk

    return acts.once(request, act, _shown(request), status=201)


def _run(request: door.Request, run_id: int, act: rights.Act) -> models.Run:
    """Return the run; 404 for who may not see it comes before 403 for who may not do this."""
    run = access.run_for(request.user, run_id)
    access.require(request.user, act)
    return run


def _shown(request: door.Request) -> Callable[[int], record_models.Run]:
    return lambda run_id: records.run(access.run_for(request.user, run_id))
