"""Whom a notice reaches and what they read: their own choice, quiet hours, the rota, and what a letter shows."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from django.conf import settings as live
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from runs import models, telling
from runs.engine import delivering, heads
from runs.selectors import notice_words
from runs.transitions import audit, committing, inbox, notice_body, notice_settings, notices, standing_in
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import answer
from tests.notices.outside import Post
from tests.notices.test_outbox import HOSTILE, mailed, never, work
from tests.pages.conftest import As

pytestmark = pytest.mark.django_db(transaction=True)


def test_who_is_told_what_on_which_way(who: factories.People, settings: Settings) -> None:
    letters = set(settings.CKPTSITE_MAIL_DIR.glob("*.eml"))
    mailed(who.reviewer, "rhea@example.com")
    mailed(who.operator, "olga@example.com")
    quiet = telling.Wish(
        ways={telling.EXTERNAL: {telling.EMAIL: telling.NOW, telling.PAGE: telling.OFF}},
        quiet_from=datetime.time(0), quiet_until=datetime.time(23, 59, 59),
    )  # fmt: skip
    notice_settings.save(quiet, owner=who.reviewer)
    second, third = factories.held(who.operator), factories.held(who.operator, tool="costly")
    notices.spread()
    found = {
        (row.notice.review_id, row.channel, row.target): row
        for row in models.Delivery.objects.select_related("notice")
    }
    mine = f"person {who.reviewer.pk}"
    assert (second.pk, "page", mine) not in found
    assert (third.pk, "page", mine) in found
    late = found[second.pk, "email", mine]
    assert late.next_at.astimezone(datetime.UTC).time() == datetime.time(23, 59, 59)  # after the quiet hours
    assert found[third.pk, "email", mine].next_at < late.next_at  # the final one isn't kept back
    assert not [key for key in found if key[2] == f"person {who.viewer.pk}"]
    assert second.due_at - second.opened_at < datetime.timedelta(hours=5)  # no deadline moves for any of this

    answer(second, who.reviewer, "approve")
    notices.spread()
    outcome = models.Delivery.objects.filter(notice__kind="review.approved", channel="email").get()
    assert (outcome.person, outcome.bundle is not None) == (
        who.operator,
        True,
    )  # gathered, as the default says
    models.Delivery.objects.filter(pk=late.pk).update(next_at=late.next_at - datetime.timedelta(days=1))
    assert (
        delivering.work(stopping=never) == 2
    )  # the final one is sent to a file, the late one isn't any more
    late.refresh_from_db()
    assert (late.status, late.error) == ("dropped", delivering.OVER)
    assert len(list(live.CKPTSITE_NOTICES_DIR.glob("*.eml"))) == 1
    assert set(live.CKPTSITE_MAIL_DIR.glob("*.eml")) == letters
    for left in live.CKPTSITE_NOTICES_DIR.iterdir():
        left.unlink()


def test_a_letter_hides_nothing_leads_only_to_the_page_and_decides_nothing(
    who: factories.People, post: Post, as_: As
) -> None:
    review = factories.held(who.operator, tool="costly", title=HOSTILE)
    models.Review.objects.filter(pk=review.pk).update(title=HOSTILE)
    mailed(who.reviewer, "rhea@example.com")
    assert work() == 1
    [letter] = post.taken
    assert letter["To"] == "rhea@example.com"
    assert letter["Bcc"] is None
    assert letter["Auto-Submitted"] == "auto-generated"
    text, page = letter.get_body(("plain",)), letter.get_body(("html",))
    assert text is not None
    assert page is not None
    for part in (str(letter["Subject"]), text.get_content(), page.get_content()):
        assert "\u202e" not in part
        assert "U+202E" in part
    assert "<img" not in page.get_content()
    assert "src=" not in page.get_content().replace("src=https://evil.example/x&gt;", "")
    link = f"{live.PUBLIC_URL}{reverse('review', args=[review.pk])}"
    assert link in text.get_content()
    assert f'href="{link}"' in page.get_content()
    assert notice_body.address("runs", 7) == live.PUBLIC_URL + reverse("run", args=[7])
    path = link.removeprefix(live.PUBLIC_URL)
    for client in (Client(), as_(who.reviewer)):  # a scanner of links, with and without a session
        assert client.head(path).status_code in {200, 302}
        assert {
            client.get(path, headers={"User-Agent": "LinkScanner/1.0"}).status_code for _ in range(5)
        } <= {200, 302}
    review.refresh_from_db()
    assert (review.status, models.Decision.objects.count()) == ("open", 0)


def test_what_is_gathered_is_one_letter(who: factories.People, post: Post) -> None:
    mailed(who.reviewer, "rhea@example.com")
    for name in ("a", "b", "c"):
        factories.held(who.operator, name=name)
    assert work() == 0  # not before its time
    models.Delivery.objects.filter(channel="email").update(next_at=datetime.datetime.now(datetime.UTC))
    assert work() == 1
    [letter] = post.taken
    assert letter["Subject"] == "3 notices from ckptsite"
    text = letter.get_body(("plain",))
    assert text is not None
    assert text.get_content().count("An action waits to be released") == 3


def test_who_stands_in_is_told_too_and_who_is_off_duty_is_not_called(who: factories.People) -> None:
    other = mailed(factories.person("reviewer-9", "reviewer"), "nine@example.com")
    finance = factories.person("finance-1", "reviewer", "finance")
    Group.objects.get_or_create(name="finance")[0].user_set.add(finance)
    mailed(who.reviewer, "rhea@example.com")
    admin = Actor(user=who.admin)
    tomorrow = timezone.now() + datetime.timedelta(days=1)
    standing_in.delegate(finance.pk, who.reviewer.pk, until=tomorrow, reason="Leave.", by=admin)
    review = factories.held(who.operator, tool="costly")
    models.Review.objects.filter(pk=review.pk).update(groups=["finance"])
    notices.spread()
    told = models.Delivery.objects.filter(notice__review=review)
    assert {row.person for row in told} == {who.admin, finance, who.reviewer}

    day = timezone.localdate()
    standing_in.add_shift(
        group="reviewer", person_id=other.pk, days="1234567", starts=datetime.time(0), ends=datetime.time(0),
        since=day - datetime.timedelta(days=1), until=None, by=admin,
    )  # fmt: skip
    second = factories.held(who.operator, tool="costly")
    notices.spread()
    letters = models.Delivery.objects.filter(notice__review=second, channel="email")
    assert [row.person for row in letters] == [other]  # the others read it on their pages
    assert models.Delivery.objects.filter(notice__review=second, person=who.reviewer, channel="page").exists()
    scope = models.Scope.objects.create(person=other, agent=models.Agent.objects.create(name="elsewhere"))
    third = factories.held(
        who.operator, tool="costly"
    )  # it isn't there for who is on duty: the others are called
    notices.spread()
    letters = models.Delivery.objects.filter(notice__review=third, channel="email")
    assert [row.person for row in letters] == [who.reviewer]
    scope.delete()
    models.Review.objects.filter(pk=second.pk).update(due_at=timezone.now())
    notices.note_late()
    notices.spread()
    late = models.Delivery.objects.filter(notice__kind="review.late", channel="email")
    assert {row.person for row in late} == {other, who.reviewer}


def test_what_is_released_alone_is_told_loudly(who: factories.People) -> None:
    review = factories.held(who.operator, tool="costly")
    with committing.committing("test"):
        run = inbox.lock(review.run_id)
        by, subject = Actor(user=who.admin), f"review {review.pk}"
        audit.append("review.broke_glass", actor=by, run=run, subject=subject, content={"reason": "Fire."})
    notices.spread()
    told = models.Delivery.objects.filter(notice__kind="review.broke_glass").select_related("notice__review")
    assert {row.person for row in told} == {who.reviewer, who.operator}
    assert notice_words.title(told[0].notice).startswith(
        "Somebody released it alone, by break-glass: an action"
    )


def test_the_head_of_the_audit_chain_goes_out_to_whom_it_may_concern(
    who: factories.People, post: Post, settings: Settings, tmp_path: Path
) -> None:
    settings.CKPTSITE_AUDIT_HEADS, settings.CKPTSITE_AUDIT_HEADS_MAIL = (
        tmp_path / "heads",
        "vault@example.com",
    )
    factories.start(who.operator)
    keeper = heads.Keeper()
    keeper.look()
    keeper.look()
    assert work() == 1
    [letter] = post.taken
    head = models.AuditHead.objects.get()
    text = letter.get_body(("plain",))
    assert text is not None
    assert (letter["To"], f"Hash: {head.hash}" in text.get_content()) == ("vault@example.com", True)
    assert heads.read(settings.CKPTSITE_AUDIT_HEADS) == {head.seq: head.hash}
