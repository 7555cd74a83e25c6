"""Simultaneous decisions on real connections: one winner, one audit row each, and nobody's word is lost."""

from __future__ import annotations

import datetime
import itertools
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from runs import lifecycle, models
from runs.engine import advance, verifier
from runs.transitions import clocks, decisions, evidence, holds, refusals, switches
from runs.transitions.actor import Actor
from tests import factories
from tests.engine import world
from tests.harness import crowd as crowds
from tests.harness.crowd import Crowd, Outcome

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.seconds]
SIZE = 8
MORE = bool(os.environ.get("CKPTSITE_HARNESS"))  # the races in full length
POLICY = {
    "version": 1,
    "rules": [
        {"name": "Two people", "match": {"tool": "world.unprotected"}, "verdict": "review", "quorum": 2},
        {"name": "One person", "match": {"tool": "world.lookup"}, "verdict": "review"},
        {"name": "Nobody", "match": {"tool": "world.allowed"}, "verdict": "allow"},
    ],
}


class House:
    """Who lives here: four reviewers, an operator and an administrator."""

    def __init__(self) -> None:
        self.reviewers = [factories.person(f"reviewer-{number}", "reviewer") for number in range(4)]
        self.operator = factories.person("olga", "operator")
        self.admin = factories.person("ada", "admin")
        crowds.agent()
        switches.set_policy(POLICY, reason="for the races", by=Actor(user=self.admin))


@pytest.fixture
def house(tmp_path: Path) -> House:
    world.World.reset(tmp_path / "world.jsonl")
    return House()


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    before = _deadlocks()  # there may be none
    with crowds.crowd(SIZE) as made:
        yield made
    assert _deadlocks() == before


def _rest() -> None:
    """Do nothing: some of the crowd only look on."""


def _deadlocks() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def _acts(house: House, review: models.Review, rng: random.Random) -> list[tuple[str, Callable[[], Any]]]:
    """Return eight acts on one question: reviewers who agree or not, twice each, and who else may come between."""

    def vote(verdict: str, who: models.User) -> tuple[str, Callable[[], Any]]:
        return verdict, lambda: crowds.decide(review, verdict, by=who)

    def expire() -> None:
        """What the clock does, until somebody has closed this question; refused if that wasn't the clock."""
        end, status = time.monotonic() + 0.5, "open"
        while status == "open" and time.monotonic() < end:
            clocks.expire_reviews()
            status = models.Review.objects.values_list("status", flat=True).get(pk=review.pk)
        if status != "expired":
            raise refusals.Stale(f"This question is closed ({status}).")

    reject = rng.choice((0.0, 0.3))
    acts = [
        vote(decisions.REJECT if rng.random() < reject else decisions.APPROVE, who)
        for who in house.reviewers[: rng.choice((2, 4))]
        for _ in range(rng.choice((1, 2)))
    ][:6]
    between: list[tuple[str, Callable[[], Any]]] = [
        ("withdraw", lambda: decisions.withdraw(review.pk, by=Actor(user=house.reviewers[0]))),
        ("stop", lambda: holds.stop(review.run_id, reason="enough", by=Actor(user=house.operator))),
        ("pause", lambda: holds.pause(review.run_id, reason="wait", by=Actor(user=house.operator))),
        ("advance", lambda: advance.advance(review.run_id)),
    ]
    if rng.random() < 0.4:  # it expires at about this moment
        soon = timezone.now() + datetime.timedelta(milliseconds=rng.randint(1, 15))
        models.Review.objects.filter(pk=review.pk).update(expires_at=soon)
        between.append(("expire", expire))
    rng.shuffle(between)
    acts += between[: SIZE - len(acts)]
    acts += [vote(decisions.APPROVE, house.reviewers[0])] * (SIZE - len(acts))
    rng.shuffle(acts)
    return acts


def _closers(review: models.Review) -> list[str]:
    """Return what closed the question, by the record of decisions, votes and events."""
    votes = Counter(review.decisions.values_list("verdict", flat=True))
    found = ["rejected"] * votes[decisions.REJECT]
    found += ["approved"] * (votes[decisions.APPROVE] >= review.quorum)
    subject = f"review {review.pk}"
    found += ["expired"] * models.AuditEvent.objects.filter(act="review.expired", subject=subject).count()
    return found


def _judge(review: models.Review, outcomes: list[Outcome], house: House, *, since: int) -> None:
    """One winner, one audit row for each act that was taken, clear words for all others, no quorum left hanging."""
    review.refresh_from_db()
    run = models.Run.objects.get(pk=review.run_id)
    story = (review.pk, review.status, [(outcome.name, outcome.refused) for outcome in outcomes])
    assert [outcome.fault for outcome in outcomes if outcome.fault] == [], story
    won = Counter(outcome.name for outcome in outcomes if outcome.won)
    votes = Counter(review.decisions.values_list("verdict", flat=True))
    events = models.AuditEvent.objects.filter(
        seq__gt=since, subject__in=(f"review {review.pk}", f"run {run.pk}")
    )
    acts = Counter(events.values_list("act", flat=True))
    for verdict in (decisions.APPROVE, decisions.REJECT):
        assert won[verdict] == votes[verdict] == acts[f"review.{verdict}"], story
    assert won["expire"] == acts["review.expired"] <= 1, story
    assert won["withdraw"] == acts["review.withdrawn"] <= 1, story
    assert won["stop"] == acts["run.stop_asked"] <= 1, story
    assert won["pause"] == acts["run.paused"] <= 1, story
    closers = _closers(review)
    assert len(closers) <= 1, story
    assert votes[decisions.APPROVE] <= review.quorum, story
    ended = {"approved": {"approved", "superseded"}, "rejected": {"rejected"}, "expired": {"expired"}}
    if closers:
        assert review.status in ended[closers[0]], story
    else:  # no quorum is left hanging: an open question lacks a vote; a stop may have ended it
        assert review.votes == votes[decisions.APPROVE] < review.quorum, story
        assert review.status == "open" or (review.status == "superseded" and run.stop_at is not None), story
    names = {person.display() for person in house.reviewers}
    for outcome in outcomes:
        if outcome.refused and outcome.name in {decisions.APPROVE, decisions.REJECT}:
            said = outcome.refused
            assert any(said.startswith(f"{name} ") and "first" in said for name in names) or any(
                word in said for word in ("You have decided", "expired", "is closed", "somebody else's")
            ), story


def _questions(house: House, rng: random.Random) -> Iterator[models.Review]:
    """Yield questions without end: those of one run after the other, as long as nobody stops it."""
    while True:
        run = crowds.start(house.operator, **{rng.choice(("lookup", "unprotected")): 10})
        advance.advance(run.pk)
        for review in models.Review.objects.filter(run=run, status="open").order_by("id"):
            yield review
            run.refresh_from_db()
            if run.hold_by_id is not None:
                holds.resume(run.pk, by=Actor(user=house.operator))
            if run.stop_at is not None:
                break


def test_every_question_has_one_winner(house: House, crowd: Crowd) -> None:
    rng = random.Random(20261130)
    closed: Counter[str] = Counter()
    for review in itertools.islice(_questions(house, rng), 200 if MORE else 60):
        acts, since = _acts(house, review, rng), models.AuditHead.objects.get(pk=1).seq
        _judge(review, crowd.at_once(acts), house, since=since)
        closed[review.status] += 1
    assert min(closed[status] for status in ("approved", "rejected", "expired")) > 0, closed
    verifier.verify()


def test_4_1_a_decision_against_the_park_is_never_slept_through(house: House, crowd: Crowd) -> None:
    """A decision that lands while the engine decides to wait is found by the engine, without the clock's net."""
    rng = random.Random(41)
    idle = [("idle", _rest)] * (SIZE - 2)
    for _ in range(rounds := 7 if MORE else 3):
        run = crowds.start(house.operator, lookup=16)
        advance.advance(run.pk)
        first, *others = models.Review.objects.filter(run=run, status="open").order_by("id")
        crowds.decide(first, decisions.APPROVE, by=house.reviewers[0])
        for review in others:
            gate = threading.Event()

            def work(run: models.Run = run, gate: threading.Event = gate) -> None:
                with crowds.told_at(rng.randint(1, 24), gate):
                    advance.advance(run.pk)

            def decide(review: models.Review = review, gate: threading.Event = gate) -> None:
                assert gate.wait(120)
                crowds.decide(review, decisions.APPROVE, by=house.reviewers[1])

            outcomes = crowd.at_once([("work", work), ("decide", decide), *idle])
            assert [outcome for outcome in outcomes if not outcome.won] == []
            run.refresh_from_db()
            done = models.Action.objects.filter(run=run, status="succeeded", reviews=review).exists()
            assert done or run.status == "queued", (run.status, run.reason, run.inbox, run.folded)
        assert crowds.work(run).status == "succeeded"
    assert crowds.effects() == rounds * 16
    verifier.verify()


def test_2_2_after_the_acknowledgement_no_effect_starts(house: House, crowd: Crowd) -> None:
    """Pause-all, or a policy that forbids it: once it has returned, no intent is committed by any worker."""
    rng = random.Random(22)
    admin = Actor(user=house.admin)
    deny = {"version": 1, "rules": [{"name": "Nothing", "verdict": "deny"}]}
    intents = models.Entry.objects.filter(kind=lifecycle.EntryKind.INTENT)
    seen: Counter[bool] = Counter()
    for number in range(60 if MORE else 20):
        runs = [crowds.start(house.operator, allowed=allowed) for allowed in (2, 1)]
        gate = threading.Event()
        acknowledged: list[int] = []

        def narrow(number: int = number, gate: threading.Event = gate, at: list[int] = acknowledged) -> None:
            assert gate.wait(120)
            if number % 2:
                switches.pause_all(True, by=admin, reason="Test.")
            else:
                switches.set_policy(deny, reason="stop it", by=admin)
            at.append(intents.count())

        def work(run: models.Run = runs[0], gate: threading.Event = gate) -> None:
            with crowds.told_at(rng.choice((1, rng.randint(20, 90))), gate):
                advance.advance(run.pk)

        def beat(run: models.Run = runs[0], gate: threading.Event = gate) -> None:
            """Hold the run's row again and again, as heartbeats do: the intent has to wait for it."""
            while not gate.is_set():
                with connection.cursor() as cursor:
                    cursor.execute("UPDATE runs_run SET priority = priority WHERE id = %s", [run.pk])

        others: list[tuple[str, Callable[[], Any]]] = [("idle", _rest)] * (SIZE - 4)
        others += [("other", partial(advance.advance, runs[1].pk)), ("beat", beat)]
        outcomes = crowd.at_once([("narrow", narrow), ("work", work), *others])
        assert [outcome for outcome in outcomes if not outcome.won] == []
        assert intents.count() == acknowledged[0]
        seen[intents.filter(run=runs[0]).exists()] += 1
        if number % 2:
            switches.pause_all(False, by=admin)
        else:
            switches.set_policy(POLICY, reason="go on", by=admin)
    assert min(seen[True], seen[False]) > 0
    verifier.verify()


def test_5_3_workers_people_and_evidence_take_their_locks_in_one_order(house: House, crowd: Crowd) -> None:
    """All kinds of writers on the same two runs at once: nobody is chosen as the victim of a deadlock."""
    for number in range(8):
        runs = [crowds.start(house.operator, lookup=2, unprotected=1) for _ in range(2)]
        for run in runs:
            advance.advance(run.pk)
        outcomes = crowd.at_once(_everybody(house, runs, number))
        assert [outcome.fault for outcome in outcomes if outcome.fault] == []
    for run in runs:
        crowds.work(run)
    verifier.verify()


def _everybody(house: House, runs: list[models.Run], number: int) -> list[tuple[str, Callable[[], Any]]]:
    """Return one writer of each kind, people and evidence in both orders."""
    reviews = list(models.Review.objects.filter(run__in=runs, status="open").order_by("id"))
    actions = list(models.Action.objects.filter(run__in=runs).order_by("id"))
    content = {"reason": "not sent", "summary": "not sent"}

    def vote(who: models.User, asked: list[models.Review]) -> None:
        for review in asked:
            crowds.decide(review, decisions.APPROVE, by=who)

    def tell(told: list[models.Action]) -> None:
        for action in told:
            evidence.append(action.pk, attempt=1, outcome="did_not_happen", source="worker", content=content)

    stopped = runs[number % 2].pk
    return [
        ("vote", lambda: vote(house.reviewers[0], reviews)),
        ("vote back", lambda: vote(house.reviewers[1], reviews[::-1])),
        ("evidence", lambda: tell(actions)),
        ("evidence back", lambda: tell(actions[::-1])),
        ("work", lambda: advance.advance(runs[0].pk)),
        ("work too", lambda: advance.advance(runs[1].pk)),
        ("stop", lambda: holds.stop(stopped, reason="enough", by=Actor(user=house.operator))),
        ("clock", lambda: [clocks.wake_stranded(), clocks.due_runs(limit=9), clocks.expire_reviews()]),
    ]
