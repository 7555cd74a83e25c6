"""Deciding in somebody's place: it adds their questions and no right; four eyes look at both, and both count once."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group
from django.db.models import DateTimeField, Value
from django.db.models.functions import Now

from runs import models
from runs.engine import verifier
from runs.selectors import deciding, filters, queue, review_desk
from runs.transitions import clock_time, desk, standing_in, switches
from runs.transitions.actor import Actor
from runs.transitions.refusals import Invalid, NotYours
from tests.core.tampering import unhindered
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]


def mine(user: models.User) -> list[int]:
    """The questions that somebody finds under "Mine"."""
    user = models.User.objects.get(pk=user.pk)  # as the next request reads them
    viewer = deciding.Viewer(user=user, roles=user.roles())
    return list(queue.listed(viewer, filters.Filters()).values_list("pk", flat=True))


def hand(principal: models.User, to: models.User) -> models.Delegation:
    until = clock_time.now() + datetime.timedelta(hours=20)
    return standing_in.delegate(
        principal.pk, to.pk, until=until, reason="On leave.", by=Actor(user=principal)
    )


def test_5_9_a_delegate_decides_as_the_person_they_stand_in_for(
    start: Start, person: Person, reviewer: models.User
) -> None:
    """Fred's questions are Rita's too while he is away; not what he may not release, and never as a second voice."""
    Group.objects.create(name="finance")
    fred, ada, vera = person("fred", "reviewer", "finance"), person("ada", "admin"), person("vera", "viewer")
    rule = {"name": "Money", "verdict": "review", "groups": ["finance"], "quorum": 2, "separation": True}
    switches.set_policy({"version": 1, "rules": [rule]}, reason="for the test", by=Actor(user=ada))
    run = go(start(step("lookup", "pay")))
    review = only_review(run)
    assert mine(reviewer) == []
    with pytest.raises(NotYours, match="finance can"):
        answer(review, reviewer, "approve")
    with pytest.raises(NotYours):
        standing_in.delegate(
            fred.pk, reviewer.pk, until=clock_time.now(), reason="x", by=Actor(user=reviewer)
        )
    with pytest.raises(Invalid, match="vera may decide nothing"):
        hand(fred, vera)
    given = hand(fred, reviewer)
    assert mine(reviewer) == [review.pk]
    decision = answer(review, reviewer, "approve")
    assert (decision.person, decision.on_behalf_of) == (reviewer, fred)
    event = models.AuditEvent.objects.get(act="review.approve")
    assert (event.actor, event.on_behalf_of) == (reviewer, fred)
    for again in (fred, reviewer):  # both are one
        with pytest.raises(NotYours, match="You have decided"):
            answer(only_review(run), again, "approve")
    answer(only_review(run), ada, "approve")
    standing_in.end(given.pk, by=Actor(user=reviewer))  # before it starts: his word counts no more
    go(run)
    assert World.effects() == []
    review = only_review(run)
    assert mine(reviewer) == []
    verifier.verify()
    with unhindered():
        models.Decision.objects.filter(pk=decision.pk).update(on_behalf_of=ada)
        with pytest.raises(verifier.Broken, match="decision"):
            verifier.verify()

    fred.groups.add(Group.objects.get(name="operator"))
    own = models.Run.objects.get(pk=start(step("lookup", "other")).pk)
    models.Run.objects.filter(pk=own.pk).update(created_by=fred)  # he began it
    asked = only_review(go(own))
    given = hand(fred, reviewer)
    with pytest.raises(NotYours, match="You stand in for fred, and of them it holds: You started this run"):
        answer(asked, reviewer, "approve")
    models.Delegation.objects.filter(pk=given.pk).update(until=clock_time.now())
    with pytest.raises(NotYours, match="finance can"):
        answer(asked, reviewer, "reject")


def test_5_who_is_on_duty_has_a_question_first_and_once_it_is_due_everybody_has_it(
    start: Start, person: Person, reviewer: models.User
) -> None:
    rolf, ada = person("rolf", "reviewer"), person("ada", "admin")
    review = only_review(go(start(step("lookup", "pay"))))
    assert mine(rolf) == mine(reviewer) == [review.pk]
    shift = standing_in.add_shift(
        group="reviewer", person_id=rolf.pk, days="1234567", starts=datetime.time(0), ends=datetime.time(0),
        since=datetime.date(2026, 1, 1), until=None, by=Actor(user=ada),
    )  # fmt: skip
    assert (mine(rolf), mine(reviewer), mine(ada)) == ([review.pk], [], [review.pk])

    def again() -> tuple[list[int], list[int]]:
        return mine(rolf), mine(reviewer)

    asked = models.Review.objects.filter(pk=review.pk)
    asked.update(quorum=2)  # more than are on duty
    assert again() == ([review.pk], [review.pk])
    asked.update(quorum=1, separation=True)
    assert again() == ([review.pk], [])
    models.Run.objects.filter(pk=review.run_id).update(created_by=rolf)  # who can't release it then
    assert again() == ([review.pk], [review.pk])
    models.Run.objects.filter(pk=review.run_id).update(created_by=ada)
    elsewhere = models.Agent.objects.create(name="elsewhere")
    scope = models.Scope.objects.create(person=rolf, agent=elsewhere)  # it isn't there for him
    assert again() == ([], [review.pk])
    with pytest.raises(Invalid, match="somebody who may answer"):
        desk.hand_over(review.pk, rolf.pk, note="Yours today.", by=Actor(user=reviewer))
    listed = review_desk.shown(
        models.Review.objects.annotate(put_off_until=Value(None, DateTimeField()), now=Now()).get(),
        deciding.Viewer(user=reviewer, roles=frozenset({"reviewer"})),
    )
    assert listed is not None
    assert {one.value for one in listed.people} == {ada.pk}
    scope.delete()
    asked.update(separation=False)
    assert again() == ([review.pk], [])
    asked.update(due_at=clock_time.now())
    assert mine(reviewer) == [review.pk]
    standing_in.end_shift(shift.pk, by=Actor(user=ada))
    answer(review, reviewer, "approve")  # nobody was ever kept from answering
