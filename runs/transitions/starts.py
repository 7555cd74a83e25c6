"""Starting runs, and keeping the bytes that they are given."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import IntegrityError

from runs import exact, hints, labelling, lifecycle, models, points, rights
from runs.models import blob, scopes, wire
from runs.transitions import attempts, audit, clock_time, indexing, log, pins, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale


def keep_blob(content: bytes) -> str:
    """Return the digest under which `content` is kept; refuse (Invalid) more than 25 MB."""
    if len(content) > blob.MAX_SIZE:
        raise Invalid(f"This file has {len(content):,} bytes; the limit is {blob.MAX_SIZE:,}.")
    sha256 = exact.digest_bytes(content)
    points.reach("file.before")
    models.Blob.objects.get_or_create(sha256=sha256, defaults={"size": len(content), "content": content})
    points.reach("file.after")
    return sha256


@attempts.noted("run.start", "agent {}")
def start_run(
    agent_name: str,
    *,
    input: Mapping[str, Any],
    title: str,
    by: Actor,
    token: str,
    mode: str = models.Run.Mode.LIVE,
    labels: Mapping[str, str] | None = None,
    version: int = 0,
) -> models.Run:
    """Return the new run, queued and due at once; the same token again returns the run it made.

    A dry run reads for real and says of every effect what it would do and whom it would ask; nothing goes out. Only
    a dry run may be of another `version` than the one in use. Refuses NotYours without the right to start, Invalid for
    an unknown agent or version, an empty title, labels that can't be, or input that isn't exact JSON.
    """
    user = by.user
    if user is None or not rights.may(user.roles(), rights.Act.START):
        raise NotYours("You may not start runs; an operator can.")
    token = texts.token(token)
    known = models.Run.objects.filter(start_token=token).first()
    if known is not None:
        return _same(known, agent_name, user, mode)
    agent = models.Agent.objects.select_related("current").filter(name=agent_name).first()
    if agent is None or agent.current is None or not scopes.within(user, [agent.pk]):
        raise Invalid(f"There is no agent named {agent_name!r}.")
    wanted = agent.current if version in {0, agent.current.number} else _tried(agent, version, mode)
    try:
        text = exact.canonical(dict(input))
        labelled = labelling.check(labels or {})
    except (exact.NotExact, labelling.BadLabels) as error:
        raise Invalid(str(error)) from error
    title = texts.typed(title, "title")[:200] or agent.title
    try:
        with committing("start"):
            run = create(wanted, text=text, title=title, user=user, token=token, mode=mode, labels=labelled)
            content = {"agent": str(wanted), "input": run.input_digest, "root": run.root_id,
                       "budget": run.budget}  # fmt: skip
            if mode == models.Run.Mode.DRY_RUN:
                content["dry_run"] = True
            if labelled:
                content["labels"] = labelled
            indexing.run(run, agent)
            audit.append("run.started", actor=by, run=run, subject=f"run {run.pk}", content=content)
            hints.wake(run.pk)
            hints.changed(run.pk)
    except IntegrityError:
        # The same form sent twice at once: the other one made the run.
        return _same(models.Run.objects.get(start_token=token), agent_name, user, mode)
    return run


def try_on(
    agent_name: str, version: int, runs: Iterable[models.Run], *, token: str, by: Actor
) -> list[models.Run]:
    """Return a dry run of an agent's version for each of these runs of it, on that run's input; again the same ones.

    Each says by its label which run it is like. Refuses what start_run refuses.
    """
    return [
        start_run(
            agent_name,
            input=run.input,
            title=f"{run.title[:150]}, tried out on version {version}",
            by=by,
            token=f"{token[:40]}-{run.pk}",
            mode=models.Run.Mode.DRY_RUN,
            labels={labelling.LIKE: str(run.pk)},
            version=version,
        )
        for run in runs
    ]


def _tried(agent: models.Agent, number: int, mode: str) -> models.AgentVersion:
    if mode != models.Run.Mode.DRY_RUN:
        raise Invalid("A version that is not in use can only be tried out, as a dry run.")
    version = agent.versions.filter(number=number).select_related("agent").first()
    if version is None:
        raise Invalid(f"There is no version {number} of {agent.name!r}.")
    return version


def _same(run: models.Run, agent_name: str, user: models.User, mode: str) -> models.Run:
    """Return the run that this form has made before; refuse (Stale) another person's, agent's or kind of run."""
    found = (run.created_by_id, run.agent_version.agent.name, run.mode)
    if found != (user.pk, agent_name, mode):
        raise Stale("This form was used already; load the page again.")
    return run


def create(
    version: models.AgentVersion,
    *,
    text: str,
    title: str,
    user: models.User,
    token: str,
    mode: str,
    labels: dict[str, str],
    parent: models.Run | None = None,
    handed_by: models.Occurrence | None = None,
) -> models.Run:
    """Return a new run with its first line, in the caller's transaction, which says in the audit chain who made it."""
    now = clock_time.now()
    number = next_id()
    run = models.Run(
        pk=number,
        root_id=number,
        agent_version=version,
        pins=pins.now(version.provider, version.tools),
        title=title,
        input=exact.stored(text),
        input_digest=exact.digest(text),
        labels=labels,
        mode=mode,
        path=[],
        status=lifecycle.Run.QUEUED,
        reason="new",
        wake_at=now - datetime.timedelta(milliseconds=1),
        start_token=token,
        budget=version.budget,
        created_by=user,
        parent=parent,
        handed_by=handed_by,
    )
    run.save(force_insert=True)
    lines = log.Log(run)
    lines.append(
        lifecycle.EntryKind.INPUT,
        {"input": run.input, "pins": run.pins_id},
        boundary=lifecycle.Boundary.CREATED,
    )
    lines.flush()
    run.save(update_fields=["position", "head", "checkpoint_number", "checkpoint_position"])
    return run


def next_id() -> int:
    """Return the id of the next run beforehand: a first attempt is its own root, and the root is never null."""
    ((number,),) = wire.execute("SELECT nextval('runs_run_id_seq')", [])
    assert number is not None
    return int(number)
