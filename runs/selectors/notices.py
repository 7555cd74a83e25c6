"""What somebody was told on these pages, and what they want to be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Subquery
from django.db.models.functions import Coalesce

from runs import models, telling
from runs.selectors import counting, deciding, keyset, notice_words, page_models, settings_page

SIZE = 25
UNREAD = 99
"""So many new ones are counted on every page."""
ROWS: dict[str, tuple[str, str]] = {
    telling.REVERSIBLE: ("Tier 0 and 1", "Questions about what can be undone"),
    telling.EXTERNAL: ("Tier 2", "Questions about what leaves the house, plans, and what agents ask"),
    telling.FINAL: ("Tier 3", "Questions about what can't be undone"),
    telling.TROUBLE: ("Trouble", "Runs that failed, effects in doubt, budgets that are used up"),
    telling.MINE: ("Runs that you started", "How their questions and they themselves end"),
    telling.SITE: ("The installation", "Pauses, policy, a restored database"),
}
CHANNELS: dict[str, str] = {telling.PAGE: "On these pages", telling.EMAIL: "E-mail", telling.SLACK: "Slack"}
MODES: dict[str, str] = {telling.OFF: "Off", telling.GATHERED: "Gathered", telling.NOW: "At once"}
STATUS: dict[str, str] = {
    "pending": "Waits",
    "sent": "Sent",
    "dropped": "Not needed any more",
    "dead": "Given up",
}


@dataclass(frozen=True, kw_only=True)
class ToldRow:
    """One line of what somebody was told."""

    line: str
    about: str
    run: str
    link: str
    at: page_models.Moment
    fresh: bool


@dataclass(frozen=True, kw_only=True)
class ToldPage:
    rows: tuple[ToldRow, ...]
    page: page_models.Page
    newest: int  # what "all of it is read" is about; 0 where nothing is new


@dataclass(frozen=True, kw_only=True)
class Way:
    """One choice of one row: a select of the form."""

    name: str
    channel: str
    label: str
    options: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True, kw_only=True)
class WishRow:
    label: str
    hint: str
    ways: tuple[Way, ...]


@dataclass(frozen=True, kw_only=True)
class Sent:
    """One of the newest letters to somebody."""

    line: str
    at: page_models.Moment
    status: str
    error: str


@dataclass(frozen=True, kw_only=True)
class WishPage:
    tabs: tuple[page_models.Tab, ...]
    rows: tuple[WishRow, ...]
    channels: tuple[str, ...]
    hours: tuple[int, ...]
    zones: tuple[str, ...]
    default_zone: str
    email: str
    to_files: bool
    letters: tuple[Sent, ...]
    slack: bool  # whether the installation speaks to Slack
    member: str  # whom the person is there
    may_link: bool
    outgoing: bool


def wish_of(user: models.User) -> telling.Wish:
    """Return what the person has chosen, or the defaults."""
    row = models.NoticeSettings.objects.filter(person=user).first()
    if row is None:
        return telling.Wish()
    return telling.Wish(
        ways=row.ways,
        gather_hours=row.gather_hours,
        zone=row.zone,
        quiet_from=row.quiet_from,
        quiet_until=row.quiet_until,
        final_anyway=row.final_anyway,
    )


def told(viewer: deciding.Viewer, params: Mapping[str, str]) -> ToldPage:
    """Return one page of what the person was told here, the newest first."""
    seen = (
        models.NoticeSettings.objects.filter(person=viewer.user).values_list("seen", flat=True).first() or 0
    )
    rows = models.Delivery.objects.select_related("notice__review", "notice__run", "notice__by")
    rows = rows.filter(person=viewer.user, channel=telling.PAGE)
    found, paging = keyset.page(rows, by=("id",), params=params, size=SIZE)
    shown = tuple(_row(row, fresh=row.pk > seen) for row in found)
    newest = max((row.pk for row in found if row.pk > seen), default=0)
    return ToldPage(rows=shown, page=paging, newest=newest)


def unread(user: models.User) -> counting.Counted:
    """Return the number of notices that the person hasn't looked at, as a part of a query that runs anyway; up to
    some."""
    seen = models.NoticeSettings.objects.filter(person=user).values("seen")
    fresh = models.Delivery.objects.filter(person=user, channel=telling.PAGE)
    return counting.Counted.upto(fresh.filter(pk__gt=Coalesce(Subquery(seen), 0)), UNREAD)


def wishes(viewer: deciding.Viewer, wish: telling.Wish, *, may_link: bool, outgoing: bool) -> WishPage:
    """Return the page on which the person says what they want to be told; `wish` is what it shows as chosen."""
    link = models.SlackLink.objects.filter(person=viewer.user).exclude(member="").first()
    letters = models.Delivery.objects.select_related("notice__review", "notice__run", "notice__by")
    newest = letters.filter(person=viewer.user, channel=telling.EMAIL).order_by("-id")[:5]
    channels = [name for name in CHANNELS if name != telling.SLACK or settings.CKPTSITE_SLACK]
    return WishPage(
        tabs=settings_page.tabs("notifications"),
        rows=tuple(_wish(row, wish, channels) for row in telling.ROWS),
        channels=tuple(CHANNELS[name] for name in channels),
        hours=telling.HOURS,
        zones=tuple(telling.zones()),
        default_zone=settings.TIME_ZONE,
        email=viewer.user.email,
        to_files=not settings.EMAIL_HOST,
        letters=tuple(
            Sent(
                line=notice_words.title(row.notice),
                at=row.sent_at or row.next_at,
                status=STATUS[row.status],
                error=row.error if row.status in {"pending", "dead"} else "",
            )
            for row in newest
        ),
        slack=settings.CKPTSITE_SLACK,
        member=link.member if link is not None else "",
        may_link=may_link,
        outgoing=outgoing,
    )


def _wish(row: str, wish: telling.Wish, channels: list[str]) -> WishRow:
    label, hint = ROWS[row]
    ways = tuple(
        Way(
            name=f"{row}-{channel}",
            channel=CHANNELS[channel],
            label=f"{label}, {CHANNELS[channel]}",
            options=tuple(
                (mode, MODES[mode], wish.way(row, channel) == mode) for mode in telling.WAYS[channel]
            ),
        )
        for channel in channels
    )
    return WishRow(label=label, hint=hint, ways=ways)


def _row(row: models.Delivery, *, fresh: bool) -> ToldRow:
    found = notice_words.of(row.notice)
    facts = dict(found.facts)
    return ToldRow(
        line=found.line,
        about=facts.get("What") or facts.get("Switch") or facts.get("Reason", ""),
        run=facts.get("Run", ""),
        link=found.link.removeprefix(settings.PUBLIC_URL),
        at=row.notice.at,
        fresh=fresh,
    )
