"""Whom this installation tells, and what did not get through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Count, Max, Q

from runs import models, telling
from runs.selectors import counting, keyset, notice_words, page_models

SIZE = 25


@dataclass(frozen=True, kw_only=True)
class EndpointRow:
    endpoint_id: int
    url: str
    about: str
    kinds: str
    enabled: bool
    generation: int
    waiting: int
    given_up: int
    last: page_models.Moment | None


@dataclass(frozen=True, kw_only=True)
class FailedRow:
    """A delivery that was tried in vain; `dead` ones wait for a person."""

    delivery_id: int
    line: str
    way: str
    to: str
    tries: int
    error: str
    dead: bool
    next_at: page_models.Moment
    event: str


@dataclass(frozen=True, kw_only=True)
class Member:
    person_id: int
    name: str
    member: str


@dataclass(frozen=True, kw_only=True)
class OutgoingPage:
    endpoints: tuple[EndpointRow, ...]
    kinds: tuple[tuple[str, str], ...]
    failed: tuple[FailedRow, ...]
    page: page_models.Page
    waiting: int
    mail: str  # how letters leave
    slack: str  # how messages leave
    members: tuple[Member, ...]
    people: tuple[tuple[int, str], ...]
    team: str


def page(params: Mapping[str, str]) -> OutgoingPage:
    """Return the page; the newest of what did not get through first."""
    waits, dead = Q(deliveries__status="pending"), Q(deliveries__status="dead")
    endpoints = models.Endpoint.objects.annotate(
        waiting=Count("deliveries", filter=waits),
        given_up=Count("deliveries", filter=dead),
        last=Max("deliveries__sent_at"),
    )
    rows = models.Delivery.objects.select_related(
        "notice__review", "notice__run", "notice__by", "person", "endpoint"
    )
    failed = rows.filter(Q(status="dead") | Q(status="pending", tries__gt=0) & ~Q(error=""))
    found, paging = keyset.page(failed, by=("id",), params=params, size=SIZE)
    links = models.SlackLink.objects.exclude(member="").select_related("person").order_by("person__username")
    return OutgoingPage(
        endpoints=tuple(_endpoint(row) for row in endpoints.order_by("id")),
        kinds=tuple((kind, words) for kind, words in telling.KINDS.items() if kind != "test"),
        failed=tuple(_failed(row) for row in found),
        page=paging,
        waiting=counting.upto(models.Delivery.objects.filter(status="pending")),
        mail=f"over the mail server {settings.EMAIL_HOST}"
        if settings.EMAIL_HOST
        else "as files into notices/ in the data folder",
        slack=_slack(),
        members=tuple(
            Member(person_id=row.person_id, name=row.person.display(), member=row.member) for row in links
        ),
        people=tuple(
            (user.pk, f"{user.display()} ({user.get_username()})")
            for user in models.User.objects.filter(is_active=True).order_by("username")[:500]
        )
        if settings.CKPTSITE_SLACK
        else (),
        team=settings.SLACK_TEAM,
    )


def _slack() -> str:
    if not settings.CKPTSITE_SLACK:
        return ""
    way = "by a bot" if settings.SLACK_BOT_TOKEN and settings.SLACK_CHANNEL else "by an incoming webhook"
    ready = settings.SLACK_SIGNING_SECRET and settings.SLACK_TEAM and settings.SLACK_CHANNEL
    return f"{way}, {'with' if ready else 'without'} buttons"


def _endpoint(row: models.Endpoint) -> EndpointRow:
    return EndpointRow(
        endpoint_id=row.pk,
        url=row.url,
        about=row.about,
        kinds=", ".join(row.kinds) or "everything",
        enabled=row.enabled,
        generation=row.generation,
        waiting=row.waiting,  # type: ignore[attr-defined]  # annotated
        given_up=row.given_up,  # type: ignore[attr-defined]  # annotated
        last=row.last,  # type: ignore[attr-defined]  # annotated
    )


def _failed(row: models.Delivery) -> FailedRow:
    to = (
        row.person.display()
        if row.person
        else (row.endpoint.about or row.endpoint.url)
        if row.endpoint
        else "the channel"
    )
    return FailedRow(
        delivery_id=row.pk,
        line=notice_words.title(row.notice),
        way=models.Delivery.Channel(row.channel).label,
        to=to,
        tries=row.tries,
        error=row.error,
        dead=row.status == models.Delivery.Status.DEAD,
        next_at=row.next_at,
        event=str(row.notice.event),
    )
