"""The outbox: told with what it tells of, found again after every crash, never twice under another id."""

from __future__ import annotations

import datetime
import json
import signal
import subprocess
import sys
from typing import Any
from unittest import mock

import pytest
from django.db import transaction
from pytest_django import Settings

from runs import hints, models
from runs.engine import delivering, outside, worker
from runs.net import signing
from runs.notices import webhooks
from runs.transitions import endpoints, inbox, notices, switches
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import answer, go
from tests.notices.outside import Answer, Post, Receiver, Request, yes

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "Pay \u202egnp.exe <img src=https://evil.example/x> <!channel>\nBcc: all@example.com"


def never() -> bool:
    return False


def work() -> int:
    """Everything that is due, as a worker would, without the pauses between two tries."""
    while notices.spread():
        pass
    models.Delivery.objects.filter(bundle=None).update(next_at=datetime.datetime.now(datetime.UTC))
    return delivering.work(stopping=never)


def mailed(user: models.User, address: str) -> models.User:
    user.email = address
    user.save()
    return user


def kinds(**more: Any) -> list[str]:
    return list(models.Notice.objects.filter(**more).order_by("id").values_list("kind", flat=True))


def endpoint(who: factories.People, url: str, *, only: list[str] | None = None) -> models.Endpoint:
    form = f"form-{models.Endpoint.objects.count()}"
    return endpoints.create(url, about="Log", kinds=only or [], form=form, by=Actor(user=who.admin))


def test_a_notice_is_there_exactly_when_what_it_tells_of_is(who: factories.People) -> None:
    review = factories.held(who.operator)
    assert kinds(run=review.run) == ["review.opened"]
    assert notices.note_late() == 0
    models.Review.objects.filter(pk=review.pk).update(due_at=datetime.datetime.now(datetime.UTC))
    assert (notices.note_late(), notices.note_late()) == (1, 0)
    answer(review, who.reviewer, "reject", reason="No.")
    go(review.run)
    assert kinds(run=review.run) == ["review.opened", "review.late", "review.rejected", "run.succeeded"]
    again = factories.held(who.operator)
    with transaction.atomic():  # what is taken back was never told
        inbox.lock(again.run_id)
        models.Review.objects.filter(pk=again.pk).update(status="expired", closed_at=again.opened_at)
        assert kinds(review=again) == ["review.opened", "review.expired"]
        transaction.set_rollback(True)
    assert kinds(review=again) == ["review.opened"]
    switches.pause_all(True, reason="Fire.", by=Actor(user=who.admin))
    notices.spread()
    told = models.Delivery.objects.filter(notice__kind="switch.off", channel="page")
    assert {row.person for row in told} == {who.reviewer, who.operator}  # not who did it, nor who only looks


def test_a_mail_server_that_dies_loses_nothing_and_doubles_only_the_same_event(
    who: factories.People, post: Post, settings: Settings
) -> None:
    mailed(who.reviewer, "rhea@example.com")
    reviews = [factories.held(who.operator, tool="costly", name=name) for name in ("a", "b", "c")]
    post.stop()
    assert work() >= 1
    rows = models.Delivery.objects.filter(channel="email")
    assert {row.status for row in rows} == {"pending"}
    assert sum(row.tries for row in rows) == 1  # what waits behind the dead server costs no try of its own
    post.start()
    post.data = "451 not now"  # it has it, and says that it hasn't
    work()
    post.data = "250 taken"
    # The worker dies after the server took it, before that was written down.
    with mock.patch.object(notices, "sent", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        work()
    work()
    assert {row.status for row in rows.all()} == {"sent"}
    events = {
        str(notice.event) for notice in models.Notice.objects.filter(kind="review.opened", review__in=reviews)
    }
    ids = [str(letter["X-Event-Id"]) for letter in post.taken]
    assert set(ids) == events
    assert len(ids) > len(events)  # some came twice, under their own id and Message-ID
    assert len({letter["Message-ID"] for letter in post.taken}) == len(events)


def test_endpoints_are_told_everything_signed_and_under_the_same_id(
    who: factories.People, receiver: Receiver
) -> None:
    review = factories.held(who.operator, title=HOSTILE)
    notices.spread()  # nobody listened then
    first = endpoint(who, receiver.url())
    answer(review, who.reviewer, "reject", reason="No.")
    receiver.stop()
    work()
    row = models.Delivery.objects.get(endpoint=first)
    assert (row.status, row.tries) == ("pending", 1)
    assert "could not be reached" in row.error
    receiver.start()
    receiver.answer = lambda _request: (500, {}, b"")
    work()
    receiver.answer = lambda _request: (200, {}, b"")
    endpoints.rotate(first.pk, generation=1, by=Actor(user=who.admin))
    work()
    row.refresh_from_db()
    assert (row.status, row.tries, row.receipt) == ("sent", 3, "200")
    before, after = receiver.taken
    assert before.body == after.body
    assert json.loads(after.body)["type"] == "review.rejected"
    assert json.loads(after.body)["data"]["review"]["id"] == review.pk
    assert after.headers["webhook-id"] == before.headers["webhook-id"] == str(row.notice.event)
    first.refresh_from_db()
    for generation in (1, 2):  # for a day both secrets sign
        known = webhooks.secret_of(first, generation=generation)
        stamp = after.headers["webhook-timestamp"]
        given: dict[str, Any] = {"event": str(row.notice.event), "timestamp": stamp, "body": after.body}
        assert signing.verified(
            known, signatures=after.headers["webhook-signature"], now=float(stamp), **given
        )
    assert len(before.headers["webhook-signature"].split()) == 1
    models.Endpoint.objects.update(rotated_at=datetime.datetime.now(datetime.UTC) - endpoints.BOTH_SIGN)
    notices.try_out("webhook", endpoint=first.pk, by=Actor(user=who.admin))
    endpoint(who, receiver.url("/other"), only=["run.failed"])
    work()
    assert [json.loads(request.body)["type"] for request in receiver.taken[2:]] == ["test"]
    assert len(receiver.taken[2].headers["webhook-signature"].split()) == 1
    endpoints.switch(first.pk, enabled=False, by=Actor(user=who.admin))
    assert work() == 0


def test_a_process_that_is_killed_while_it_sends_loses_nothing_and_doubles_only_the_same_event(
    who: factories.People, receiver: Receiver, child_environment: dict[str, str]
) -> None:
    """`kill -9` once the receiver has it and the sender hasn't heard so; a later process sends it again by its id."""
    made = endpoint(who, receiver.url(), only=["test"])
    notices.try_out("webhook", endpoint=made.pk, by=Actor(user=who.admin))
    environment = child_environment | {"CKPTSITE_OUTGOING": "127.0.0.0/8"}
    command = [sys.executable, "manage.py", "drain"]

    def kill(_request: Request) -> Answer:
        sender.send_signal(signal.SIGKILL)
        sender.wait(10)
        return yes(_request)

    receiver.answer = kill
    sender = subprocess.Popen(command, env=environment)
    assert sender.wait(60) == -signal.SIGKILL
    row = models.Delivery.objects.get(endpoint=made)
    assert (row.status, row.tries) == ("pending", 1)
    receiver.answer = yes
    models.Delivery.objects.update(next_at=datetime.datetime.now(datetime.UTC))
    assert worker.drain(until_idle=False) == 0  # no run is due, and what is due to be told goes out
    row.refresh_from_db()
    assert (row.status, row.tries) == ("sent", 2)
    first, second = receiver.taken
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == str(row.notice.event)
    assert first.body == second.body


def test_after_the_last_try_it_waits_for_a_person(
    who: factories.People, receiver: Receiver, settings: Settings
) -> None:
    settings.CKPTSITE = {**settings.CKPTSITE, "NOTICE_TRIES": 2}
    receiver.answer = lambda _request: (400, {}, b"no")
    row = endpoint(who, receiver.url())
    notices.try_out("webhook", endpoint=row.pk, by=Actor(user=who.admin))
    assert [work() for _ in range(3)] == [1, 1, 0]
    dead = models.Delivery.objects.get()
    assert (dead.status, dead.error) == ("dead", "The endpoint answered 400.")
    receiver.answer = lambda _request: (200, {}, b"")
    notices.send_again(dead.pk, by=Actor(user=who.admin))
    assert work() == 1
    dead.refresh_from_db()
    assert (dead.status, dead.tries) == ("sent", 1)
    assert len({request.headers["webhook-id"] for request in receiver.taken}) == 1
    # A process that dies over each try uses them up as well.
    notices.try_out("webhook", endpoint=row.pk, by=Actor(user=who.admin))
    for _ in range(2):
        with (
            mock.patch.object(outside, "look", side_effect=KeyboardInterrupt),
            pytest.raises(KeyboardInterrupt),
        ):
            work()
    assert work() == 0
    assert "process ended" in models.Delivery.objects.get(status="dead").error
    assert notices.pause(1) < notices.pause(2) < notices.pause(5) <= notices.pause(99) * 1.2
    models.Notice.objects.update(at=datetime.datetime.now(datetime.UTC) - notices.KEPT)
    assert notices.forget() == 2
    assert not models.Delivery.objects.exists()


def test_without_a_broker_the_clock_sends_and_with_one_a_worker(
    who: factories.People, receiver: Receiver
) -> None:
    row = endpoint(who, receiver.url())
    with mock.patch.object(hints, "deliver_now", return_value=False) as hinting:
        notices.try_out("webhook", endpoint=row.pk, by=Actor(user=who.admin))
        delivering.Herald().look()
        assert len(receiver.taken) == 1
        hinting.return_value = True
        notices.try_out("webhook", endpoint=row.pk, by=Actor(user=who.admin))
        herald = delivering.Herald()
        herald.look()
        herald.look()
    assert hinting.call_count == 2  # once for each of the two, not at every look
    assert len(receiver.taken) == 1
    models.Installation.objects.update(restored=True)
    assert not notices.due()  # a copy of the database tells nobody
    models.Installation.objects.update(restored=False)
    from runs import tasks

    tasks.deliver()
    assert len(receiver.taken) == 2
