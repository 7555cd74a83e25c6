"""Runs, their logs and effects as the API shows them: facts, without the words of pages. Fixed numbers of queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse

from runs import models, rights
from runs.models import scopes
from runs.selectors import deciding, filters, keyset, ledger, queue, record_models, runs_list

MOST = 100
LOG_BYTES = 4_000_000
"""A page of a log ends with the line that fills it."""
NOT_IN_LISTS = ("input", "path", "waivers", "agent_version__definition", "agent_version__input_schema",
                "agent_version__tools", "agent_version__instructions")  # fmt: skip


def me(token: models.ApiToken, viewer: deciding.Viewer) -> record_models.Me:
    """Return who asks and what they may do through this token."""
    return record_models.Me(
        username=viewer.user.get_username(),
        roles=tuple(sorted(viewer.roles)),
        may=tuple(str(act) for act in rights.Act if viewer.may(act)),
        token=record_models.Token(
            name=token.name,
            kind=token.kind,
            acts=tuple(sorted(map(str, token.acts))),
            expires_at=token.expires_at,
        ),
    )


def agents(viewer: deciding.Viewer) -> record_models.Agents:
    """Return the agents that can be started."""
    rows = (
        models.Agent.objects.filter(scopes.seen(viewer.user, "pk"), current__isnull=False)
        .select_related("current")
        .order_by("name")
    )
    return record_models.Agents(
        items=tuple(
            record_models.Agent(
                name=row.name,
                title=row.title,
                project=row.project,
                version=row.current.number if row.current else 0,
                input_schema=row.current.input_schema if row.current else {},
            )
            for row in rows
        )
    )


def runs(
    viewer: deciding.Viewer, *, only: str, agent: str, q: str, label: str, cursor: str, limit: int
) -> record_models.Runs:
    """Return one page of the runs, newest first."""
    rows = models.Run.objects.select_related("agent_version__agent", "created_by").defer(*NOT_IN_LISTS)
    rows = rows.filter(scopes.seen(viewer.user))
    if only:
        rows = rows.filter(status__in=runs_list.FILTERS[only][1])
    if agent:
        rows = rows.filter(agent_version__agent__name=agent)
    typed = filters.typed(q)
    if typed:
        rows = rows.filter(filters.runs_found(typed))
    if label:
        rows = filters.labelled(rows, label)
    keep = {"only": only, "agent": agent, "q": typed, "label": label, "limit": str(limit)}
    found, more = page(rows, by=("id",), cursor=cursor, limit=limit, keep=keep)
    asked = _asked(row.pk for row in found)
    return record_models.Runs(
        items=tuple(record_models.RunLine(**_line(row, asked[row.pk])) for row in found),
        next=following("runs", more),
    )


def run(row: models.Run) -> record_models.Run:
    """Return a run that `access` has given."""
    return record_models.Run(
        **_line(row, _asked([row.pk])[row.pk]),
        input=row.input,
        input_digest=row.input_digest,
        paused=_said(row.hold_by, row.hold_reason),
        stop_asked=_said(row.stop_by, row.stop_reason),
        parent=row.parent_id,
        children=_children(row),
        checkpoint=row.checkpoint_number,
        position=row.position,
        head=row.head,
        used=record_models.Use(**{str(name): amount for name, amount in row.used().items()}),
        cost_known=row.cost_known,
        budget=record_models.Use(**(row.budget or {})),
        summary=row.summary,
        error=row.error,
    )


def _children(row: models.Run) -> tuple[int, ...]:
    """Return the current attempts of what the run, or an earlier attempt of it, has handed over."""
    rows = models.Run.objects.filter(parent__root=row.root_id, superseded_by__isnull=True)
    return tuple(rows.order_by("pk").values_list("pk", flat=True))


def log(row: models.Run, *, after: int, limit: int) -> record_models.Entries:
    """Return the lines of the run's own log after a position, oldest first: what has happened since."""
    found, size = [], 0
    rows = models.Entry.objects.filter(run=row, position__gt=after).order_by("position")[:limit]
    for line in rows.iterator(chunk_size=20):
        found.append(
            record_models.Entry(
                position=line.position,
                kind=line.kind,
                at=line.created_at,
                content=line.content,
                head=line.head,
                checkpoint=line.number,
                boundary=line.boundary,
            )
        )
        size += len(str(line.content))
        if size > LOG_BYTES:
            break
    last = found[-1].position if found else after
    place = following(f"runs/{row.pk}/log", {"after": str(last), "limit": str(limit)})
    return record_models.Entries(items=tuple(found), next=place or "")


def effects(row: models.Run, *, cursor: str, limit: int) -> record_models.Effects:
    """Return one page of what of the run reached the world outside, newest first."""
    rows = models.Action.objects.filter(run=row, occurrence__isnull=False).select_related("occurrence__owner")
    found, more = page(rows, by=("id",), cursor=cursor, limit=limit, keep={"limit": str(limit)})
    receipts = ledger.receipts(found)
    return record_models.Effects(
        items=tuple(_effect(action, receipts.get(action.pk)) for action in found),
        next=following(f"runs/{row.pk}/effects", more),
    )


def page(
    rows: QuerySet[Any],
    *,
    by: tuple[str, ...],
    cursor: str,
    limit: int,
    keep: Mapping[str, str],
    descending: bool = True,
) -> tuple[list[Any], Mapping[str, str] | None]:
    """Return one page, and the parameters of the following one, None after the last."""
    size = min(limit, MOST)
    found, paging = keyset.page(rows, by=by, params={"before": cursor}, size=size, descending=descending)
    if not paging.older:
        return found, None
    kept = {name: value for name, value in keep.items() if value}
    return found, {**kept, "cursor": paging.older.removeprefix("before=")}


def following(path: str, params: Mapping[str, str] | None) -> str | None:
    """Return the address of the following page, None where there is none."""
    return None if params is None else f"{settings.PUBLIC_URL}/api/v1/{path}?{urlencode(params)}"


def _asked(run_ids: Iterable[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    rows = queue.open_reviews().filter(run__in=list(run_ids)).order_by("pk")
    for run_id, review_id in rows.values_list("run_id", "pk"):
        found[run_id].append(review_id)
    return found


def _line(row: models.Run, asked: list[int]) -> dict[str, Any]:
    return {
        "id": row.pk,
        "title": row.title,
        "agent": row.agent_version.agent.name,
        "agent_version": row.agent_version.number,
        "mode": row.mode,
        "status": row.status,
        "reason": row.reason,
        "labels": row.labels,
        "root": row.root_id,
        "superseded_by": row.superseded_by_id,
        "created_by": row.created_by.get_username(),
        "created_at": row.created_at,
        "ended_at": row.ended_at,
        "open_reviews": tuple(asked),
        "url": settings.PUBLIC_URL + reverse("run", args=[row.pk]),
    }


def _said(by: models.User | None, reason: str) -> record_models.Said | None:
    return None if by is None else record_models.Said(by=by.get_username(), reason=reason)


def _effect(action: Any, receipt: Any) -> record_models.Effect:
    occurrence: models.Occurrence = action.occurrence
    return record_models.Effect(
        id=occurrence.pk,
        tool=occurrence.tool,
        identity=occurrence.identity,
        state=occurrence.state,
        key=occurrence.key,
        run=occurrence.owner.run_id,
        action=occurrence.owner_id,
        arguments_digest=occurrence.owner.digest,
        sends=occurrence.owner.attempt,
        first_sent_at=occurrence.first_sent_at,
        settled_at=occurrence.settled_at,
        contradicted=occurrence.contradicted,
        receipt=receipt,
    )
