"""Who is told of a notice, on which way, and not before when."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from django.conf import settings

from runs import lifecycle, models, rights, telling
from runs.models import scopes, team
from runs.models.user import roles_of
from runs.transitions.actor import Actor
from runs.transitions.refusals import NotYours

Channel, Status = models.Delivery.Channel, models.Delivery.Status
SITE_KINDS = frozenset(
    {
        "switch.off",
        "switch.on",
        "policy.changed",
        "database.restored",
        "database.released",
        "review.broke_glass",
    }
)
OUTCOMES = frozenset(
    {"review.approved", "review.rejected", "review.answered", "run.succeeded", "run.failed", "run.cancelled"}
)
CLOSED = frozenset(
    {f"review.{status.value}" for status in lifecycle.Review if status is not lifecycle.Review.OPEN}
)


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody who may be told, with their roles and what they want."""

    user: models.User
    roles: frozenset[str]
    wish: telling.Wish
    in_slack: bool
    in_place: tuple[frozenset[str], ...] = ()  # the roles of those in whose place they decide now
    limit: frozenset[int] | None = None
    """The agents that they may see runs of, None for all."""

    def may_answer(self, review: models.Review) -> bool:
        """Return whether they are asked, in their own name or in somebody's place."""
        if rights.may_answer(self.roles, review.kind, review.groups):
            return True
        own = review.kind in rights.OWN_RIGHT or not rights.may(self.roles, rights.Act.DECIDE)
        return not own and any(rights.may_decide(roles, review.groups) for roles in self.in_place)

    def may_release(self, review: models.Review) -> bool:
        """Return whether they see it, are asked in their own name, and didn't start what somebody else releases."""
        seen = self.limit is None or review.run.agent_version.agent_id in self.limit
        own = review.separation and review.run.created_by_id == self.user.pk
        return seen and not own and rights.may_answer(self.roles, review.kind, review.groups)


@dataclass(frozen=True, kw_only=True)
class House:
    """Everybody and everything that can be told; read once for many notices."""

    people: tuple[Person, ...]
    endpoints: tuple[models.Endpoint, ...]
    duty: Mapping[str, frozenset[int]]  # who is on duty now for a group

    @classmethod
    def read(cls) -> House:
        """Return them as they are now."""
        rows = models.User.objects.filter(is_active=True).select_related("notice_settings", "slack")
        limited = models.Scope.objects.exists()
        known = [person(user, limited=limited) for user in rows.prefetch_related("groups").order_by("pk")]
        roles = {one.user.pk: one.roles for one in known}
        places: dict[int, list[frozenset[str]]] = {}
        handed = models.Delegation.objects.filter(team.standing_in())
        for delegate, principal in handed.values_list("delegate", "principal"):
            places.setdefault(delegate, []).append(roles.get(principal, frozenset()))
        duty: dict[str, set[int]] = {}
        for group, who in team.on_duty().values_list("group__name", "person"):
            duty.setdefault(group, set()).add(who)
        return cls(
            people=tuple(replace(one, in_place=tuple(places.get(one.user.pk, ()))) for one in known),
            endpoints=tuple(models.Endpoint.objects.filter(enabled=True).order_by("pk")),
            duty={group: frozenset(people) for group, people in duty.items()},
        )

    def off_duty(self, notice: models.Notice, one: Person) -> bool:
        """Return whether others are on duty for a new question: then these pages say it, and nothing calls them.

        Whoever is asked is called once it is late, or goes a step up; at once where those on duty can't decide it by
        themselves.
        """
        review = notice.review
        if notice.kind != "review.opened" or review is None:
            return False
        duty = frozenset[int]().union(*(self.duty.get(group, frozenset()) for group in review.groups))
        able = [each for each in self.people if each.user.pk in duty and each.may_release(review)]
        return len(able) >= max(1, review.quorum) and one.user.pk not in duty


def person(user: models.User, *, limited: bool = True) -> Person:
    """Return the person with what they want; whoever has chosen nothing wants the defaults."""
    chosen, link = getattr(user, "notice_settings", None), getattr(user, "slack", None)
    wish = telling.Wish() if chosen is None else wish_of(chosen)
    groups = [group.name for group in user.groups.all()]
    return Person(
        user=user,
        roles=roles_of(groups, superuser=user.is_superuser),
        wish=wish,
        in_slack=bool(link is not None and link.member),
        limit=user.limit() if limited else None,
    )


def wish_of(chosen: models.NoticeSettings) -> telling.Wish:
    """Return what the row says."""
    return telling.Wish(
        ways=chosen.ways,
        gather_hours=chosen.gather_hours,
        zone=chosen.zone,
        quiet_from=chosen.quiet_from,
        quiet_until=chosen.quiet_until,
        final_anyway=chosen.final_anyway,
    )


def only_admins(by: Actor) -> None:
    """Refuse (NotYours) who doesn't look after the installation."""
    if by.user is None or by.token is not None or not rights.may(by.user.roles(), rights.Act.NOTICES):
        raise NotYours("Only an administrator may change whom ckptsite tells.")


def told(notice: models.Notice, house: House) -> Iterator[tuple[Person, str]]:
    """Yield who is told, and by which row of their settings. Nobody is told of what they did themselves."""
    kind, review, run = notice.kind, notice.review, notice.run
    for one in house.people:
        if not rights.may(one.roles, rights.Act.VIEW):
            continue
        if one.limit is not None and run is not None and run.agent_version.agent_id not in one.limit:
            continue
        if kind == "test":
            if one.user.pk == notice.by_id and "endpoint" not in notice.content:
                yield one, telling.FINAL
        elif one.user.pk == notice.by_id:
            continue
        elif kind in SITE_KINDS:
            if "switch" in notice.content and not scopes.told_of(one.user)(str(notice.content["switch"])):
                continue
            if not one.roles.isdisjoint({rights.REVIEWER, rights.OPERATOR, rights.ADMIN}):
                yield one, telling.SITE
        elif kind == "review.handed_over" and review is not None:
            if one.user.get_username() == notice.content.get("to"):
                yield one, telling.row_of(review.kind, review.tier)
        elif kind in telling.ASKING and review is not None:
            if one.may_answer(review):
                yield one, telling.row_of(review.kind, review.tier)
        elif (
            run is not None
            and run.created_by_id == one.user.pk
            and (kind in OUTCOMES or kind == "budget.raised")
        ):
            yield one, telling.MINE
        elif kind == "review.expired" and review is not None:
            if run is not None and run.created_by_id == one.user.pk:
                yield one, telling.MINE
            elif one.may_answer(review):
                yield one, telling.row_of(review.kind, review.tier)


def deliveries(notice: models.Notice, house: House, *, now: datetime.datetime) -> Iterator[models.Delivery]:
    """Yield the notice's deliveries, unsaved."""
    slack: list[datetime.datetime] = []
    over = notice.kind in telling.ASKING and (
        notice.review is None or notice.review.status != lifecycle.Review.OPEN
    )
    if not over:  # else it was answered before anybody could be told
        for one, row in told(notice, house):
            yield from _to(one, row, notice, slack, now=now, called=not house.off_duty(notice, one))
    if settings.CKPTSITE_SLACK and (slack or _closes(notice)):
        yield models.Delivery(
            notice=notice, channel=Channel.SLACK, target="channel", next_at=min(slack, default=now)
        )
    if notice.kind == "audit.head" and settings.CKPTSITE_AUDIT_HEADS_MAIL:
        yield models.Delivery(
            notice=notice, channel=Channel.EMAIL, target=settings.CKPTSITE_AUDIT_HEADS_MAIL, next_at=now
        )
    wanted = notice.content.get("endpoint")
    for endpoint in house.endpoints:
        if wanted == endpoint.pk or (
            notice.kind != "test" and (not endpoint.kinds or notice.kind in endpoint.kinds)
        ):
            yield models.Delivery(
                notice=notice,
                channel=Channel.WEBHOOK,
                target=f"endpoint {endpoint.pk}",
                endpoint=endpoint,
                next_at=now,
            )


def _to(
    one: Person,
    row: str,
    notice: models.Notice,
    slack: list[datetime.datetime],
    *,
    now: datetime.datetime,
    called: bool,
) -> Iterator[models.Delivery]:
    """Yield what goes to one person, by these pages only unless `called`; note when they may be named in Slack."""
    tested = notice.content.get("way") if notice.kind == "test" else None
    for channel in telling.WAYS:
        way = (
            one.wish.way(row, channel)
            if tested is None
            else telling.NOW
            if tested == channel
            else telling.OFF
        )
        if way == telling.OFF or not (called or channel == telling.PAGE):
            continue
        at = now if tested else telling.when(one.wish, row, way, now=now, default=settings.TIME_ZONE)
        if channel == telling.SLACK:
            if one.in_slack or tested:
                slack.append(at)
        elif channel == telling.PAGE:
            yield _of(notice, one, channel, next_at=now, status=Status.SENT, sent_at=now)
        elif one.user.email:
            bundle = telling.bundle(one.user.pk, at) if way == telling.GATHERED else None
            yield _of(notice, one, channel, next_at=at, bundle=bundle)


def _of(notice: models.Notice, one: Person, channel: str, **fields: object) -> models.Delivery:
    return models.Delivery(
        notice=notice, channel=channel, target=f"person {one.user.pk}", person=one.user, **fields
    )


def _closes(notice: models.Notice) -> bool:
    """Return whether a message in Slack has buttons that mean nothing any more."""
    if notice.kind not in CLOSED:
        return False
    asked = models.Delivery.objects.filter(channel=Channel.SLACK, notice__review=notice.review_id)
    return asked.exclude(receipt="").exists() or asked.filter(status=Status.PENDING).exists()
