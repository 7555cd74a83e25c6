"""The page on which an operator sees whether the site does its work, and reads what to do where it doesn't."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version

import django
from django.conf import settings
from django.db import DatabaseError
from django.template.defaultfilters import filesizeformat

from runs import lifecycle, measures, rights
from runs.models.run import FORMAT
from runs.selectors import deciding, gauges, switched

GOOD, ASK, BAD = "good", "ask", "bad"
LONG, LATE = 60.0, 10.0
"""Seconds: a transaction that is open for longer holds others up; a run that is due for longer waits for a worker."""
FULL = 0.8
"""The part of all connections above which new ones may soon be refused."""
_MARKS = {GOOD: "circle-check", ASK: "triangle-alert", BAD: "circle-alert"}


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that has to be so: how it stands, in words, and what to do if it doesn't."""

    name: str
    state: str
    words: str
    advice: str = ""

    @property
    def mark(self) -> str:
        """Return the icon's name."""
        return _MARKS[self.state]


@dataclass(frozen=True, kw_only=True)
class SystemPage:
    """Everything on the page; without `gauges` the database does not answer."""

    headline: str
    state: str
    checks: tuple[Check, ...]
    gauges: gauges.Gauges | None
    versions: tuple[tuple[str, str], ...]
    may_switch: bool
    streams: int  # pages that listen to this process

    @property
    def mark(self) -> str:
        """Return the icon's name of the whole."""
        return _MARKS[self.state]


def page(viewer: deciding.Viewer, *, streams: int) -> SystemPage:
    """Return how the site stands now."""
    try:
        found = gauges.look()
    except DatabaseError:
        found = None
    checks = (_away(),) if found is None else tuple(_checks(found))
    wrong = [check for check in checks if check.state != GOOD]
    state = max((check.state for check in checks), key=[GOOD, ASK, BAD].index)
    return SystemPage(
        headline=_headline(wrong),
        state=state,
        checks=checks,
        gauges=found,
        versions=_versions(found),
        may_switch=viewer.may(rights.Act.SWITCH),
        streams=streams,
    )


def _headline(wrong: list[Check]) -> str:
    if not wrong:
        return "Everything works."
    names = (
        " and ".join(check.name.lower() for check in wrong[:2]) if len(wrong) < 3 else f"{len(wrong)} things"
    )
    return f"{names[0].upper()}{names[1:]} {'needs' if len(wrong) == 1 else 'need'} attention."


def _away() -> Check:
    return Check(
        name="Database",
        state=BAD,
        words="It doesn't answer.",
        advice="Nothing starts and nothing is lost meanwhile; work goes on by itself once it answers.",
    )


def _checks(found: gauges.Gauges) -> Iterator[Check]:
    yield _work(found)
    yield _workers(found)
    yield _clock(found)
    yield _lost(found)
    yield _database(found)
    yield _broker(found)
    yield _questions(found)
    yield _notices(found)
    yield _switches(found)


def _work(found: gauges.Gauges) -> Check:
    count, oldest = found.due_count, found.due_oldest
    if found.halted:
        words = "Nothing is taken up: everything is paused, or the database was restored and isn't released."
        return Check(name="Work", state=ASK, words=words)
    if not count:
        return Check(name="Work", state=GOOD, words="No run waits for a worker.")
    words = f"{count:,} run{'s wait' if count > 1 else ' waits'} for a worker, the oldest for {measures.span(oldest)}."
    if oldest <= LATE:
        return Check(name="Work", state=GOOD, words=words)
    state = BAD if oldest > settings.CKPTSITE["READY_DUE"] else ASK
    return Check(
        name="Work",
        state=state,
        words=words,
        advice="More workers take it up sooner.",
    )


def _workers(found: gauges.Gauges) -> Check:
    count = found.connections["worker"]
    if count:
        return Check(
            name="Workers", state=GOOD, words=f"They hold {count} connection{'s' if count > 1 else ''}."
        )
    return Check(
        name="Workers",
        state=BAD,
        words="None is connected.",
        advice="Nothing is carried out until one is started: celery -A ckptsite worker, or manage.py up.",
    )


def _clock(found: gauges.Gauges) -> Check:
    if found.clock is not None and found.clock <= settings.CKPTSITE["READY_CLOCK"]:
        return Check(name="Clock", state=GOOD, words=f"It looked {measures.span(found.clock)} ago.")
    words = "None is connected." if found.clock is None else f"It looked {measures.span(found.clock)} ago."
    return Check(
        name="Clock",
        state=BAD,
        words=words,
        advice="What time makes due (deadlines, retries, lost workers) isn't found until manage.py clock runs.",
    )


def _lost(found: gauges.Gauges) -> Check:
    running = found.runs.get(lifecycle.Run.RUNNING, 0)
    at_work = f"{running:,} run{'s are' if running != 1 else ' is'} at work"
    if not found.lost:
        return Check(name="Claims", state=GOOD, words=f"{at_work}, each with a worker behind it.")
    longest = found.lost[0].seconds
    many = f"at least {gauges.SHOWN}" if len(found.lost) == gauges.SHOWN else str(len(found.lost))
    words = f"{at_work}; of {many} the worker was lost, of the first {measures.span(longest)} ago."
    state = ASK if longest <= LONG else BAD
    return Check(
        name="Claims", state=state, words=words, advice="The next free worker takes them over by itself."
    )


def _database(found: gauges.Gauges) -> Check:
    count, most = found.connections["all"], found.most_connections
    words = (
        f"PostgreSQL {found.version} holds {_size(found.bytes)}; {count} of {most} connections are taken,"
        f" and the longest transaction has been open for {measures.span(found.transaction)}."
    )
    if found.transaction > LONG:
        advice = "A transaction that long holds up others; pg_stat_activity says whose it is."
        return Check(name="Database", state=BAD, words=words, advice=advice)
    if count > most * FULL:
        return Check(
            name="Database", state=ASK, words=words, advice="Raise max_connections, or put a pooler in front."
        )
    return Check(name="Database", state=GOOD, words=words)


def _size(number: int) -> str:
    return filesizeformat(number).replace("\xa0", " ")


def _broker(found: gauges.Gauges) -> Check:
    if found.broker is not None:
        waiting = "1 wake-up waits" if found.broker == 1 else f"{found.broker:,} wake-ups wait"
        return Check(name="Broker", state=GOOD, words=f"It answers; {waiting} there.")
    return Check(
        name="Broker",
        state=ASK,
        words="It doesn't answer.",
        advice="Nothing is lost: workers look by themselves, work goes on more slowly, and pages look every 20 s.",
    )


def _questions(found: gauges.Gauges) -> Check:
    count = sum(row.count for row in found.questions)
    overdue = sum(row.overdue for row in found.questions)
    doubt = sum(row.count for row in found.questions if row.kind == lifecycle.ReviewKind.IN_DOUBT)
    if not count:
        return Check(name="Questions", state=GOOD, words="Nobody is asked anything.")
    words = f"{count:,} {'is' if count == 1 else 'are'} open"
    words += f", {doubt:,} of them about what may have happened" if doubt else ""
    words += f"; {overdue:,} {'is' if overdue == 1 else 'are'} overdue." if overdue else "; none is overdue."
    return Check(name="Questions", state=ASK if overdue else GOOD, words=words)


def _notices(found: gauges.Gauges) -> Check:
    waiting, dead = found.deliveries.get("pending", 0), found.deliveries.get("dead", 0)
    words = (
        f"{waiting:,} {'waits' if waiting == 1 else 'wait'} to be sent"
        if waiting
        else "None waits to be sent"
    )
    words += f", {dead:,} were given up." if dead else "."
    late = bool(waiting) and found.delivery_oldest > LONG
    advice = "Outgoing notices say why; there they can be sent again." if dead or late else ""
    return Check(name="Notices", state=ASK if dead or late else GOOD, words=words, advice=advice)


def _switches(found: gauges.Gauges) -> Check:
    if not found.paused:
        return Check(name="Switches", state=GOOD, words="Nothing is paused.")
    named = ", ".join(switched.named(what) for what in found.paused[:3])
    more = f" and {len(found.paused) - 3} more" if len(found.paused) > 3 else ""
    return Check(name="Switches", state=ASK, words=f"Paused: {named}{more}.")


def _versions(found: gauges.Gauges | None) -> tuple[tuple[str, str], ...]:
    return (
        ("ckptsite", version("ckptsite")),
        ("Format of the logs", str(FORMAT)),
        ("PostgreSQL", found.version if found is not None else "unknown"),
        ("Python", platform.python_version()),
        ("Django", django.get_version()),
        ("Celery", version("celery")),
    )
