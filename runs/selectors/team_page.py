"""The team: people with their roles, groups, the rota, who stands in for whom, and who is asked after whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Greatest
from django.utils import timezone

from runs import models, rights
from runs.models import scopes, team
from runs.policies import parsing, rules, words
from runs.selectors import deciding, keyset, now, team_models

SIZE, MANY = 50, 200
ABOUT: dict[str, str] = {
    rights.VIEWER: "looks at everything, changes nothing",
    rights.REVIEWER: "decides what this group is asked",
    rights.OPERATOR: "starts, stops and re-drives runs, answers for failures and budgets",
    rights.ADMIN: "people, policy, switches, and everything else",
    rights.AUDITOR: "reads the audit trail",
}


def page(viewer: deciding.Viewer, params: Mapping[str, str]) -> team_models.TeamPage:
    """Return the page with one page of people, the newest first."""
    manages = viewer.may(rights.Act.PEOPLE)
    found, paging = keyset.page(_people(), by=("id",), params=params, size=SIZE)
    deciders = _deciders()
    shifts = list(
        models.Shift.objects.filter(ended_at__isnull=True)
        .filter(Q(until__isnull=True) | Q(until__gte=timezone.localdate()))
        .select_related("group", "person")
        .order_by("group__name", "since", "pk")[:MANY]
    )
    on_now = set(team.on_duty().values_list("pk", flat=True))
    return team_models.TeamPage(
        people=tuple(_person(row, viewer) for row in found),
        page=paging,
        groups=_groups(shifts, on_now),
        shifts=tuple(_shift(row, on_now) for row in shifts),
        delegations=_delegations(viewer),
        steps=_steps(),
        manages=manages,
        decides=viewer.may(rights.Act.DECIDE),
        deciders=tuple(
            team_models.Choice(value=str(row.pk), label=row.display())
            for row in deciders
            if row != viewer.user
        ),
        members=_members() if manages else (),
        roles=_choices(frozenset()) if manages else (),
        days=tuple(team_models.Choice(value=value, label=label) for value, label in team.DAYS.items()),
        today=timezone.localdate(),
        agents=_agents(()) if manages else (),
        zone=str(settings.TIME_ZONE),
    )


def person(user_id: int, viewer: deciding.Viewer) -> team_models.PersonPage | None:
    """Return the page of one person, or None where there is none."""
    row = _people().filter(pk=user_id).first()
    if row is None:
        return None
    shown = _person(row, viewer)
    live = models.ApiToken.objects.filter(person=row, revoked_at__isnull=True, expires_at__gt=now.ClockNow())
    limit = tuple(one.name for one in models.Scope.objects.filter(person=row).select_related("agent"))
    return team_models.PersonPage(
        person=shown,
        agents=_agents(limit),
        limited=bool(limit),
        choices=_choices(frozenset(shown.groups)),
        seen=" ".join(sorted(shown.groups)),
        tokens=live.count(),
        has_password=row.has_usable_password(),
    )


def _people() -> QuerySet[models.User]:
    # Not "is": then the server may look for everybody's newest act from the end of the chain on.
    acts = models.AuditEvent.objects.filter(actor__gte=OuterRef("pk"), actor__lte=OuterRef("pk"))
    used = models.ApiToken.objects.filter(person=OuterRef("pk")).order_by().values("person")
    tokens = used.annotate(at=Max("used_at")).values("at")
    newest = acts.order_by("-actor", "-seq").values("at")[:1]
    return (
        models.User.objects.select_related("invitation")
        .prefetch_related("groups")
        .annotate(seen_at=Greatest("last_login", Subquery(newest), Subquery(tokens)), now=now.ClockNow())
    )


def _person(row: Any, viewer: deciding.Viewer) -> team_models.Person:
    names = {group.name for group in row.groups.all()} | ({rights.ADMIN} if row.is_superuser else set())
    link = getattr(row, "invitation", None)
    waits = link is not None and link.used_at is None and link.expires_at > row.now
    return team_models.Person(
        user_id=row.pk,
        user_name=row.get_username(),
        name=row.get_full_name(),
        email=row.email if viewer.may(rights.Act.PEOPLE) else "",
        groups=tuple(sorted(names)),
        active=row.is_active,
        mine=row.pk == viewer.user.pk,
        invited_until=link.expires_at if link and waits and not row.has_usable_password() else None,
        seen_at=row.seen_at if viewer.may(rights.Act.PEOPLE) else None,
    )


def _groups(shifts: list[models.Shift], on_now: set[int]) -> tuple[team_models.Group, ...]:
    rows: Any = (
        Group.objects.annotate(members=Count("user", filter=Q(user__is_active=True)))
        .order_by("name")
        .prefetch_related("scopes__agent")[:MANY]
    )
    return tuple(
        team_models.Group(
            name=row.name,
            role=row.name in rights.ROLES,
            about=ABOUT.get(
                row.name, "is asked where the policy names it; its people need the role reviewer too"
            ),
            members=row.members,
            agents=tuple(sorted(one.name.replace(scopes.PROJECT, "project ") for one in row.scopes.all())),
            on_duty=tuple(
                dict.fromkeys(
                    one.person.display() for one in shifts if one.group_id == row.pk and one.pk in on_now
                )
            ),
        )
        for row in rows[:MANY]
    )


def _shift(row: models.Shift, on_now: set[int]) -> team_models.Shift:
    until = f" until {row.until:%-d %b %Y}" if row.until else ""
    return team_models.Shift(
        shift_id=row.pk,
        group=row.group.name,
        person=row.person.display(),
        days=", ".join(team.DAYS[day] for day in row.days),
        hours=f"{row.starts:%H:%M} to {row.ends:%H:%M}",
        dates=f"from {row.since:%-d %b %Y}{until}",
        now=row.pk in on_now,
    )


def _delegations(viewer: deciding.Viewer) -> tuple[team_models.Delegation, ...]:
    rows = models.Delegation.objects.filter(team.standing_in()).select_related("principal", "delegate")
    return tuple(
        team_models.Delegation(
            delegation_id=row.pk,
            principal=row.principal.display(),
            delegate=row.delegate.display(),
            until=row.until,
            reason=row.reason,
            may_end=viewer.may(rights.Act.PEOPLE) or viewer.user.pk in {row.principal_id, row.delegate_id},
        )
        for row in rows.order_by("until", "pk")[:MANY]
    )


def _steps() -> tuple[team_models.Step, ...]:
    """Return who is asked, and who as well while nobody answers, by the rules in force."""
    version = models.Installation.objects.select_related("policy_version").get(pk=1).policy_version
    known = parsing.parse(version.rules) if version is not None else ()
    return tuple(
        team_models.Step(rule=rule.name, says=words.said(rule).says, steps=tuple(_rungs(rule)))
        for rule in known
        if rule.verdict == rules.REVIEW
    )


def _rungs(rule: rules.Rule) -> list[str]:
    due = [] if rule.due_seconds is None else [f"due in {words.span(rule.due_seconds)}"]
    more = [
        f"after {words.span(rung.after_seconds)} also {words.either(rung.groups)}" for rung in rule.escalate
    ]
    return [*due, *more, words.at_the_end(rule)]


def _deciders() -> list[models.User]:
    able = Q(is_superuser=True) | Q(groups__name__in=sorted(rights.deciders()))
    return list(models.User.objects.filter(able, is_active=True).distinct().order_by("username")[:MANY])


def _members() -> tuple[team_models.Choice, ...]:
    asked = Group.objects.exclude(name__in=[rights.VIEWER, rights.OPERATOR, rights.AUDITOR])
    rows: Any = models.User.groups.through.objects.filter(group__in=asked, user__is_active=True)
    found = rows.select_related("group", "user").order_by("group__name", "user__username")[:MANY]
    return tuple(
        team_models.Choice(
            value=f"{row.group.name}:{row.user_id}", label=f"{row.group.name}: {row.user.display()}"
        )
        for row in found
    )


def _agents(chosen: tuple[str, ...]) -> tuple[team_models.Choice, ...]:
    """Return projects, then single agents. A project stays to be chosen while it is, also where no agent is in it."""
    rows = list(models.Agent.objects.order_by("title", "name").values_list("name", "title", "project")[:MANY])
    kept = {one.removeprefix(scopes.PROJECT) for one in chosen if one.startswith(scopes.PROJECT)}
    counts = Counter({**dict.fromkeys(kept, 0), **Counter(project for *_, project in rows if project)})
    return (
        *(
            team_models.Choice(
                value=f"{scopes.PROJECT}{name}",
                label=f"project {name}, {count} agent{'' if count == 1 else 's'}",
                chosen=name in kept,
            )
            for name, count in sorted(counts.items())
        ),
        *(
            team_models.Choice(value=name, label=title or name, chosen=name in chosen)
            for name, title, _ in rows
        ),
    )


def _choices(chosen: frozenset[str]) -> tuple[team_models.Choice, ...]:
    """Return every role in its order, then the other groups."""
    others = (
        Group.objects.exclude(name__in=rights.ROLES).order_by("name").values_list("name", flat=True)[:MANY]
    )
    return tuple(
        team_models.Choice(
            value=name, label=name, about=ABOUT.get(name, "a reviewer group"), chosen=name in chosen
        )
        for name in (*rights.ROLES, *others)
    )
