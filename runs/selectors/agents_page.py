"""Agents and their versions: what each is, who made it and why, and what differs between two."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from django.db.models import F, OuterRef, Subquery

from runs import agent_files, differences, labelling, models, rights
from runs.models import scopes
from runs.providers import declared
from runs.selectors import check_models, counting, keyset, page_models, review_edits, tools

SIZE = 50
VERSIONS = 100
RECORDED = 5
APP = "an installed app"


@dataclass(frozen=True, kw_only=True)
class AgentRow:
    """One agent in the list."""

    name: str
    title: str
    provider: str
    version: int
    runs: int
    last: datetime.datetime | None


@dataclass(frozen=True, kw_only=True)
class AgentsPage:
    """One page of the list."""

    rows: tuple[AgentRow, ...]
    pages: page_models.Page
    may_make: bool


@dataclass(frozen=True, kw_only=True)
class VersionRow:
    """One version of an agent."""

    number: int
    by: str
    at: datetime.datetime
    reason: str
    in_use: bool
    runs: int


@dataclass(frozen=True, kw_only=True)
class ToolRow:
    """One tool of an agent."""

    name: str
    title: str
    tier: int | None  # None where it isn't installed


@dataclass(frozen=True, kw_only=True)
class TriedRow:
    """A dry run of a version, and the recorded run that it is like."""

    run: int
    title: str
    like: int
    status: str
    done: bool


@dataclass(frozen=True, kw_only=True)
class AgentPage:
    """One agent at one version."""

    name: str
    title: str
    number: int
    current: int
    provider: str
    model: str
    instructions: str
    tools: tuple[ToolRow, ...]
    text: str
    digest: str
    versions: tuple[VersionRow, ...]
    before: int
    changes: tuple[check_models.Changed, ...]
    may_change: bool
    may_start: bool
    from_app: bool
    recorded: int  # runs that it can be tried on
    tried: tuple[TriedRow, ...]


def page(params: dict[str, str], user: models.User) -> AgentsPage:
    """Return the agents that somebody sees."""
    rows = models.Agent.objects.filter(scopes.seen(user, "pk"), current__isnull=False).select_related(
        "current"
    )
    found, pages = keyset.page(rows, by=("name",), params=params, size=SIZE, descending=False)
    runs = models.Run.objects.filter(agent_version=OuterRef("pk"))
    newest = runs.order_by("-agent_version", "-pk").values("created_at")[:1]
    versions = models.AgentVersion.objects.filter(agent__in=[row.pk for row in found]).annotate(
        used=counting.Counted.upto(runs), last=Subquery(newest)
    )
    used: dict[int, list[tuple[int, datetime.datetime | None]]] = {}
    for agent, count, last in versions.values_list("agent", "used", "last"):
        used.setdefault(agent, []).append((count, last))
    return AgentsPage(
        rows=tuple(
            AgentRow(
                name=row.name,
                title=row.title,
                provider=row.current.provider if row.current else "",
                version=row.current.number if row.current else 0,
                runs=sum(count for count, _ in used.get(row.pk, [])),
                last=max((last for _, last in used.get(row.pk, []) if last is not None), default=None),
            )
            for row in found
        ),
        pages=pages,
        may_make=rights.may(user.roles(), rights.Act.AGENTS),
    )


def find(name: str, user: models.User) -> models.Agent | None:
    """Return the agent, if there is one that this person sees."""
    rows = models.Agent.objects.filter(scopes.seen(user, "pk"), current__isnull=False)
    return rows.select_related("current").filter(name=name).first()


def newest(agent: models.Agent) -> models.AgentVersion:
    """Return an agent's newest version, in use or not."""
    return agent.versions.order_by("-number").select_related("agent")[0]


def version(agent: models.Agent, number: int) -> models.AgentVersion | None:
    """Return a version of an agent, if there is one."""
    return agent.versions.filter(number=number).first()


def installed() -> tuple[ToolRow, ...]:
    """Return every tool that an agent may have here."""
    return tuple(ToolRow(name=one.name, title=one.title, tier=one.risk()) for one in tools.everything())


def agent(row: models.Agent, user: models.User, *, number: int = 0) -> AgentPage | None:
    """Return an agent at a version, the one in use without a number; None where there is no such version."""
    versions = list(
        row.versions.select_related("created_by", "agent")
        .annotate(used=counting.Counted.upto(models.Run.objects.filter(agent_version=OuterRef("pk"))))
        .order_by("-number")[:VERSIONS]
    )
    assert row.current is not None
    shown = next((one for one in versions if one.number == (number or row.current.number)), None)
    if shown is None:
        return None
    told = shown.declared()
    earlier = next((one for one in versions if one.number < shown.number), None)
    from_app = row.name in {one.name for one in declared.everywhere()}
    roles = user.roles()
    return AgentPage(
        name=row.name,
        title=row.title,
        number=shown.number,
        current=row.current.number,
        provider=shown.provider,
        model=shown.model,
        instructions=shown.instructions,
        tools=tuple(_tool(name) for name in told.tools),
        text=agent_files.write(told),
        digest=shown.digest,
        versions=tuple(
            VersionRow(
                number=one.number,
                by=one.created_by.display() if one.created_by else APP,
                at=one.created_at,
                reason=one.reason,
                in_use=one.pk == row.current_id,
                runs=one.used,
            )
            for one in versions
        ),
        before=earlier.number if earlier else 0,
        changes=changed(earlier.declared(), told) if earlier else (),
        may_change=rights.may(roles, rights.Act.AGENTS) and not from_app,
        may_start=rights.may(roles, rights.Act.START),
        from_app=from_app,
        recorded=len(recorded(row)),
        tried=_tried(shown),
    )


def recorded(row: models.Agent) -> list[models.Run]:
    """Return the newest runs of an agent on which a version of it can be tried: for real, ended, not sealed."""
    ended = models.Run.objects.filter(agent_version__agent=row, mode=models.Run.Mode.LIVE, root=F("pk"))
    return list(ended.filter(ended_at__isnull=False, sealed_at=None).order_by("-pk")[:RECORDED])


def _tried(shown: models.AgentVersion) -> tuple[TriedRow, ...]:
    dry = models.Run.objects.filter(agent_version=shown, mode=models.Run.Mode.DRY_RUN).exclude(labels={})
    rows = list(dry.order_by("-pk")[: 2 * RECORDED])
    like = {
        row.pk: int(row.labels[labelling.LIKE])
        for row in rows
        if row.labels.get(labelling.LIKE, "").isdigit()
    }
    # A label is a claim of whoever started the run; only another run of this agent is named here.
    own = models.Run.objects.filter(pk__in=like.values(), agent_version__agent=shown.agent_id)
    known = set(own.values_list("pk", flat=True))
    return tuple(
        TriedRow(
            run=row.pk,
            title=row.title,
            like=like[row.pk],
            status=row.status,
            done=row.ended_at is not None,
        )
        for row in rows
        if like.get(row.pk) in known
    )


def changed(before: declared.Agent, after: declared.Agent) -> tuple[check_models.Changed, ...]:
    """Return what differs between two agents, place by place."""
    return tuple(
        review_edits.changed(one)
        for one in differences.between(agent_files.contents(before), agent_files.contents(after))
    )


def _tool(name: str) -> ToolRow:
    tool = tools.find(name)
    return ToolRow(name=name, title=tools.title(name), tier=tool.risk() if tool else None)
