"""Sessions: they begin at sign-in, are seen, and end when their person, or whoever manages people, says so."""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings

from runs import hints, models
from runs.models.session import SEEN_EVERY, SessionStore
from runs.transitions import attempts, audit, clock_time, proofs
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import NotYours, Stale


def began(
    store: SessionStore,
    user: models.User,
    *,
    strong: bool,
    agent: str,
    how: Iterable[str],
    by: Actor,
    shown_before: float | None = 0.0,
) -> None:
    """Note that somebody has signed in, where from, and what they showed; sessions that are over are forgotten.

    `shown_before` is for how many seconds they have been signed in where they come from. Where nobody says so (None),
    the session begins as one that is asked who sits at it.
    """
    assert store.session_key is not None
    with committing("sign_in"):
        now = clock_time.now()
        before = settings.CKPTSITE["STEP_UP"] + 1 if shown_before is None else shown_before
        models.Session.objects.filter(pk=store.session_key).update(
            user=user,
            strong=strong,
            ip=by.ip,
            agent=agent[:300],
            proved_at=now - clock_time.seconds(before),
            seen_at=now,
        )
        audit.append(
            "person.signed_in", actor=by, subject=f"user {user.pk}", content={"shown": sorted({*how})}
        )
    store.reload()
    store.clear_expired()


def ended(user: models.User, *, by: Actor) -> None:
    """Note that somebody has signed out."""
    with committing("sign_out"):
        audit.append("person.signed_out", actor=by, subject=f"user {user.pk}")
        hints.left(user.pk)


def proved(store: SessionStore, *, how: str, by: Actor) -> None:
    """Note that somebody at a page has shown again who they are."""
    assert by.user is not None
    with committing("prove"):
        new = {"proved_at": clock_time.now(), **({} if how == "password" else {"strong": True})}
        models.Session.objects.filter(pk=store.session_key).update(**new)
        audit.append("person.proved", actor=by, subject=f"user {by.user.pk}", content={"shown": [how]})
    store.reload()


def seen(store: SessionStore) -> None:
    """Note that the person is there; at most once a minute, since a busy page asks often."""
    row = store.opened()
    if row is not None and row.seen_at < row.now - SEEN_EVERY:  # type: ignore[attr-defined]  # annotated
        models.Session.objects.filter(pk=row.pk).update(seen_at=clock_time.now())


@attempts.noted("session.end", "sessions")
def end(digest: str, *, by: Actor) -> None:
    """End one of the person's sessions at once. Refuses Stale what is over, or isn't theirs, and Unproven."""
    with committing("session_end"):
        proofs.check_page(by, clock_time.now())
        rows = models.Session.objects.select_for_update(no_key=True).filter(user=by.user).order_by("pk")
        row = next((one for one in rows if one.digest == digest), None)
        if by.user is None or row is None:
            raise Stale("This session is over already.")
        row.delete()
        hints.left(by.user.pk)
        audit.append("session.ended", actor=by, subject=f"user {by.user.pk}", content=_told([row]))


@attempts.noted("session.end_others", "sessions")
def end_others(*, by: Actor) -> int:
    """Return how many sessions of the person were ended: all but the one they sit at.

    Refuses NotYours a program, and Unproven.
    """
    if by.user is None or by.token is not None or by.channel != "page":
        raise NotYours("Only a person who is signed in may end their sessions.")
    with committing("session_end"):
        proofs.check_page(by, clock_time.now())
        gone = close(by.user, but=by.session)
        audit.append("session.ended", actor=by, subject=f"user {by.user.pk}", content=_told(gone))
        return len(gone)


def close(user: models.User, *, but: models.Session | None = None) -> list[models.Session]:
    """Return the sessions of somebody that are ended now; the caller's transaction says why."""
    rows = models.Session.objects.select_for_update(no_key=True).filter(user=user).order_by("pk")
    gone = [row for row in rows if but is None or row.pk != but.pk]
    models.Session.objects.filter(pk__in=[row.pk for row in gone]).delete()
    hints.left(user.pk)
    return gone


def _told(gone: list[models.Session]) -> dict[str, object]:
    return {"count": len(gone), "from": sorted({row.ip for row in gone if row.ip})}
