"""People among each other: who is invited, who is on duty for a group, and who decides in whose place until when."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Case, F, Func, Q, Value, When
from django.db.models.functions import Now
from django.utils import timezone

from runs import rights
from runs.models.fields import DigestField
from runs.models.user import User, standing

DAYS = {"1": "Mon", "2": "Tue", "3": "Wed", "4": "Thu", "5": "Fri", "6": "Sat", "7": "Sun"}


class Invitation(models.Model):
    """A link with which a person sets their first password: used once, within its time. Only its digest is kept."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="invitation"
    )
    digest = DigestField(unique=True)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"invitation of {self.person_id}"


class Shift(models.Model):
    """When somebody is on duty for a group: on these days of the week, at these hours, between these dates.

    Times are those of the site's time zone. One that ends before it begins goes on after midnight.
    """

    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="shifts")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="shifts")
    days = models.CharField(max_length=7)  # of DAYS, sorted
    starts = models.TimeField()
    ends = models.TimeField()
    since = models.DateField()
    until = models.DateField(null=True)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="runs_shift_days", condition=Q(days__regex="^1?2?3?4?5?6?7?$") & ~Q(days="")
            ),
            models.CheckConstraint(
                name="runs_shift_ends_after", condition=Q(until__isnull=True) | Q(until__gte=F("since"))
            ),
        ]

    def __str__(self) -> str:
        return f"{self.person_id} for {self.group_id} on {self.days}"


class Delegation(models.Model):
    """Who decides in whose place until when, and why. It gives the delegate the principal's questions, not their roles.

    Ended early it keeps its row. Nobody hands on what was handed to them.
    """

    principal = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="handed_out"
    )
    delegate = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="stands_in")
    reason = models.TextField()
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField(db_default=Now(), editable=False)
    until = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(name="runs_delegation_to_another", condition=~Q(principal=F("delegate"))),
        ]
        indexes = [
            models.Index(
                fields=["delegate", "until"], name="runs_delegation_open", condition=Q(ended_at__isnull=True)
            )
        ]

    def __str__(self) -> str:
        return f"{self.delegate_id} for {self.principal_id} until {self.until}"


def standing_in() -> Q:
    """Return the condition under which a delegation is in force, by the database's time at the moment of asking."""
    clock = Func(template="clock_timestamp()", output_field=models.DateTimeField())
    return Q(ended_at__isnull=True, until__gt=clock, principal__is_active=True, delegate__is_active=True)


def principals(user: User) -> list[User]:
    """Return in whose place this person may decide now, those first whose time ends first."""
    if user.pk is None:
        return []
    rows = Delegation.objects.filter(standing_in(), delegate=user).select_related("principal")
    return [row.principal for row in rows.order_by("until", "pk")]


@dataclass(frozen=True, kw_only=True)
class OnDuty:
    """Somebody on duty who may decide."""

    person: int
    limit: frozenset[int] | None
    """The agents whose questions are there for them, None for all."""


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What of the rota and of delegations bears on one person now, by the names of groups."""

    covered: Mapping[str, tuple[OnDuty, ...]]  # others are on duty for it, these, and they aren't
    in_place: frozenset[str]  # they decide in the place of somebody in it


NOBODY = Desk(covered={}, in_place=frozenset())


def desk(user: User) -> Desk:
    """Return what bears on this person, in one query; in two where others are on duty."""
    # A join of its own: of who may decide, every group counts.
    able = User.objects.filter(Q(is_superuser=True) | Q(groups__name__in=sorted(rights.deciders())))
    handed = Delegation.objects.filter(standing_in(), delegate=user, principal__in=able)
    name = Case(
        When(principal__is_superuser=True, then=Value(rights.ADMIN)), default=F("principal__groups__name")
    )
    theirs = handed.values_list(name, Value(0)).distinct()
    rows = list(on_duty().values_list("group__name", "person").union(theirs))
    mine = {group for group, person in rows if person == user.pk}
    others = [(group, person) for group, person in rows if person and group not in mine]
    known = standing({person for _, person in others}) if others else {}
    covered: dict[str, tuple[OnDuty, ...]] = {}
    for group, person in others:
        roles, limit = known.get(person, (frozenset(), None))
        if rights.may_decide(roles, [group]):
            covered[group] = (*covered.get(group, ()), OnDuty(person=person, limit=limit))
    return Desk(
        covered=covered,
        in_place=frozenset(group for group, person in rows if not person and group),
    )


def on_duty(at: datetime.datetime | None = None) -> models.QuerySet[Shift]:
    """Return the shifts that are on at this moment, or now."""
    here = timezone.localtime(at)
    today, before, now = here.date(), here.date() - datetime.timedelta(days=1), here.time()

    def dated(day: datetime.date) -> Q:
        within = Q(since__lte=day) & (Q(until__isnull=True) | Q(until__gte=day))
        return within & Q(days__contains=str(day.isoweekday()))

    by_day = Q(starts__lt=F("ends"), starts__lte=now, ends__gt=now) & dated(today)
    over_night = Q(starts__gte=F("ends"))
    evening, morning = (
        over_night & Q(starts__lte=now) & dated(today),
        over_night & Q(ends__gt=now) & dated(before),
    )
    return Shift.objects.filter(by_day | evening | morning, ended_at__isnull=True, person__is_active=True)
