"""Reading effects back: after the receipt, on request, and what follows where the world is otherwise."""

from __future__ import annotations

import datetime

import pytest
from django.conf import settings
from django.urls import reverse

from runs import models
from runs.engine import verifier, verifying
from runs.transitions import clock_time, effect_words, verifications
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import answer, go
from tests.pages.conftest import As
from tests.pages.test_pages import text
from tests.pages.test_redrive import hidden

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_letter_is_read_back_and_a_person_asked_where_it_differs(who: factories.People, as_: As) -> None:
    """Nothing follows from a look by itself: the effect stands until somebody who has looked says otherwise."""
    run = go(factories.demo_run(who.operator))
    first = models.Review.objects.filter(run=run, status="open").earliest("pk")
    answer(first, who.reviewer, "approve")
    models.Action.objects.filter(run=run).update(not_before=None)
    run = go(run)
    effect = models.Occurrence.objects.get(root=run)
    assert effect.verification == ""
    effect_words.index()
    client, address, verify = (
        as_(who.operator),
        reverse("run-effects", args=[run.pk]),
        reverse("run-verify", args=[run.pk]),
    )
    assert "Being read back" in text(client, address)
    assert "Read it back" not in text(client, address)
    assert (verifying.pending(), verifying.pending()) == (1, 0)
    for page in (text(client, address), text(client, reverse("effects"))):
        assert "Read back: it is there" in page
        assert "lies in the mail folder." in page
    position = models.Run.objects.get(pk=run.pk).position

    letter = max(settings.CKPTSITE_MAIL_DIR.glob("*.eml"), key=lambda file: file.stat().st_mtime_ns)
    letter.write_bytes(letter.read_bytes().replace(b"\r\nSubject: ", b"\r\nSubject: No "))
    given = hidden(text(client, address), verify)
    assert given["occurrence"] == str(effect.pk)
    assert client.post(verify, given | {"occurrence": "x"}).status_code == 404
    for _ in range(2):  # a double click
        assert client.post(verify, given)["Location"] == address
    assert models.Verification.objects.filter(occurrence=effect).count() == 2
    verifying.pending()
    page = text(client, address)
    for words in ("Read back: it differs", "with the subject", "asked for by"):
        assert words in page
    effect.refresh_from_db()
    now = models.Run.objects.get(pk=run.pk)
    assert (effect.state, effect.verification, now.status, now.position) == (
        "standing",
        "differs",
        run.status,
        position,
    )
    question = models.Review.objects.get(run=run, kind="failure")
    assert "It happened once" in text(client, reverse("review", args=[question.pk]))
    assert "differs" in client.get(f"{reverse('effects')}?as=csv").content.decode()

    letter.unlink()
    verifications.ask(effect.pk, by=Actor(user=who.auditor))
    verifying.pending()
    assert models.Review.objects.filter(run=run, kind="failure").count() == 1  # one is asked about it already
    verifier.verify()
    answer(question, who.operator, "not_at_all", reason="The folder is empty.")
    effect.refresh_from_db()
    assert effect.state == "void"
    assert "Read it back" not in text(client, address)
    go(run)
    verifier.verify()


def test_a_look_whose_worker_was_lost_is_asked_for_again_and_in_the_end_given_up(
    who: factories.People,
) -> None:
    effect = models.Occurrence.objects.get(pk=_done(who))
    row = models.Verification.objects.create(occurrence=effect)
    assert verifications.again() == 0
    late = clock_time.now() - datetime.timedelta(minutes=2)
    models.Verification.objects.update(hinted_at=late)
    assert (verifications.again(), verifications.again()) == (1, 0)
    models.Verification.objects.update(hinted_at=late, asked_at=late - datetime.timedelta(hours=2))
    assert verifications.again() == 1
    row.refresh_from_db()
    assert (row.outcome, row.said) == ("unreadable", "No worker came to read it back within an hour.")
    verifier.verify()


def _done(who: factories.People) -> int:
    review = factories.held(who.operator)
    answer(review, who.reviewer, "approve")
    go(review.run)
    return models.Occurrence.objects.get(root=review.run).pk
