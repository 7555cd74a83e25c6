"""Refused attempts: each is written down, outside the transaction that came to nothing.

They don't lock the audit chain's head, so that nobody stalls decisions by being refused. The clock puts a digest of
each batch into the chain.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.db import connection

from runs import exact, models
from runs.transitions import audit, clock_time
from runs.transitions.actor import CLOCK, Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Refused, Stale, Unproven

P = ParamSpec("P")
R = TypeVar("R")

MOST, WINDOW = 100, datetime.timedelta(minutes=1)
"""So many of one person, or of one address, are listed in this time; one line says that there were more."""
BATCH, WITHIN = 500, datetime.timedelta(minutes=1)
"""So many come into the chain at once, and the oldest of them after this time at the latest."""
ANCHORED = "refusals.anchored"
CODES: Mapping[type[Refused], str] = {
    NotYours: "not_yours",
    Invalid: "invalid",
    Stale: "stale",
    Unproven: "unproven",
}
_LOCK = 0x72656675
_LARGEST = 2**63 - 1


def noted(act: str, subject: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a transition as an act of people: whoever is refused it leaves one `Refusal`.

    `subject` names what it is about; `{}` in it is the transition's first argument.
    """

    def wrap(transition: Callable[P, R]) -> Callable[P, R]:
        @wraps(transition)
        def inner(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return transition(*args, **kwargs)
            except Refused as refusal:
                by = kwargs["by"]
                assert isinstance(by, Actor)
                about = subject.format(args[0]) if args else subject
                of_refused(refusal, act=act, subject=about, by=by)
                raise

        inner.noted = act  # type: ignore[attr-defined]  # by this the tests know the acts of people
        return inner

    return wrap


def of_refused(refusal: Refused, *, act: str, subject: str, by: Actor) -> None:
    """Note a refusal once, however many hands it goes through."""
    if refusal.noted or (isinstance(refusal.__cause__, Refused) and refusal.__cause__.noted):
        return
    refusal.noted = True
    note(act, code=CODES.get(type(refusal), "refused"), reason=refusal.message, subject=subject, by=by)


def note(act: str, *, code: str, reason: str, subject: str, by: Actor) -> None:
    """Write one refused attempt down; beyond `MOST` within `WINDOW` only that there were more."""
    with committing("note_refusal"), connection.cursor() as cursor:
        # One after the other, so that numbers grow in the order of the commits, and the clock overlooks none.
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        mine = models.Refusal.objects.filter(at__gt=clock_time.now() - WINDOW)
        mine = mine.filter(actor=by.user) if by.user else mine.filter(actor=None, ip=by.ip)
        before = mine.order_by()[: MOST + 1].count()
        if before > MOST:
            return
        if before == MOST:
            code, reason = (
                "more",
                f"More than {MOST} attempts were refused within a minute; the rest isn't listed.",
            )
        models.Refusal.objects.create(
            actor=by.user,
            on_behalf_of=by.on_behalf_of,
            act=act[:40],
            code=code,
            reason=_storable(reason),
            run_id=_run_of(subject),
            subject=_storable(subject)[:80],
            channel=by.channel,
            ip=by.ip,
        )


def anchor() -> int:
    """Return how many refused attempts were put into the chain as one digest; none while they are few and new."""
    with committing("anchor_refusals"):
        last = last_anchored()
        fresh = list(models.Refusal.objects.filter(pk__gt=last).order_by("pk")[:BATCH])
        if not fresh or (len(fresh) < BATCH and fresh[0].at > clock_time.now() - WITHIN):
            return 0
        models.AuditHead.objects.select_for_update(no_key=True).get(pk=1)
        if last_anchored() != last:  # another clock was faster
            return 0
        audit.append(ANCHORED, actor=CLOCK, subject="refusals", content=told(fresh))
        return len(fresh)


def last_anchored() -> int:
    """Return the number of the last refused attempt that the chain knows."""
    event = models.AuditEvent.objects.filter(act=ANCHORED).order_by("-seq").first()
    return 0 if event is None else int(event.content["last"])


def told(rows: Iterable[models.Refusal]) -> dict[str, Any]:
    """Return what the chain holds of a batch: its first and last number, and a digest over every column of it."""
    lines = [[getattr(row, field.attname) for field in row._meta.concrete_fields] for row in rows]
    digest = exact.link(*(exact.canonical([_plain(value) for value in line], limit=None) for line in lines))
    return {"first": lines[0][0], "last": lines[-1][0], "count": len(lines), "digest": digest}


def _storable(text: str) -> str:
    """Return the text with visible signs for what no column holds: whoever is refused doesn't hide by writing so."""
    return text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat(timespec="microseconds")
    return value


def _run_of(subject: str) -> int | None:
    """Return the run that a subject such as "review 7" belongs to, where there is one."""
    kind, _, text = subject.partition(" ")
    number = int(text) if text.isascii() and text.isdecimal() else 0
    if not 0 < number <= _LARGEST:
        return None
    if kind == "run":
        return models.Run.objects.filter(pk=number).values_list("pk", flat=True).first()
    if kind == "review":
        return models.Review.objects.filter(pk=number).values_list("run_id", flat=True).first()
    if kind == "occurrence":
        return models.Occurrence.objects.filter(pk=number).values_list("owner__run_id", flat=True).first()
    return None
