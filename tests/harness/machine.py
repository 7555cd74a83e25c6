"""Any order of starts, workers that die or come back, decisions, stops, clock jumps and evidence: nothing breaks.

Hypothesis picks the steps and shrinks what fails. The engine, the transitions and PostgreSQL are the real ones; only
the world is in memory, and a clock that jumps stands in for waiting. The examples share one database.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from runs import lifecycle, models
from runs.engine import advance
from runs.transitions import clock_time, clocks, decisions, evidence, holds, starts, switches
from tests.harness import always, small_world, workers
from tests.harness.machine_base import numbers, which
from tests.harness.machine_desk import Desk
from tests.harness.stage import AGENT, POLICIES

MEDDLING = ("withdraw", "withdraw", "pause", "resume", "resume", "stop", "pause all", "go on", "go on", "usual",
            *POLICIES)  # fmt: skip


class Machine(Desk):
    """One example: up to three pieces of work, and everything that may happen to them."""

    def __init__(self) -> None:
        super().__init__()
        self.start(effects=[("lookup", "a")], asks=False)

    # Work.

    @precondition(lambda self: self.works < 3)
    @rule(
        asks=st.booleans(),
        effects=st.lists(
            st.tuples(st.sampled_from(("read", *small_world.KINDS)), st.sampled_from("ab")), min_size=1, max_size=3
        )
    )  # fmt: skip
    def start(self, effects: list[tuple[str, str]], asks: bool) -> None:
        number = next(numbers)
        given: dict[str, Any] = {"asks": asks} | {kind: [] for kind in ("read", *small_world.KINDS)}
        for kind, letter in effects:
            given[kind].append(f"{number}-{letter}")
        by, token = self.stage.operator, f"machine-{number}"
        run = starts.start_run(AGENT, input=given, title="", by=by, token=token)
        assert starts.start_run(AGENT, input=given, title="", by=by, token=token).pk == run.pk
        self.runs.append(run.pk)
        self.works += 1
        self._check()

    @rule(index=which)
    def advance(self, index: int) -> None:
        self.stage.workers.live(self._work(index))
        self._check()

    @rule(index=which, end=st.sampled_from(workers.ENDS), at=st.integers(min_value=1, max_value=20))
    def advance_until_its_end(self, index: int, end: str, at: int) -> None:
        if len(self.stage.workers.stalled) < 2 or end != "stalls":
            self.told["deaths"] += bool(self.stage.workers.live(self._work(index), end, at))
        self._check()

    @precondition(lambda self: self.stage.workers.stalled)
    @rule(index=which)
    def zombie_comes_back(self, index: int) -> None:
        self.told["zombies"] += 1
        self.stage.workers.let_go(index)
        self._check()

    @rule(what=st.sampled_from((*small_world.FAULTS, *small_world.FAULTS, "changes", "forged")))
    def world_is_odd(self, what: str) -> None:
        """The next request fails; or what an approval rests on changes; or a hint comes for no run of ours."""
        if what in small_world.FAULTS:
            self.world.faults.append(what)
        elif what == "changes":
            self.world.balance += 1
            self.world.blind = not self.world.blind
        else:
            assert not advance.advance(-1)

    # Time.

    @rule(seconds=st.sampled_from((-20.0, 3.0, 16.0, 40.0, 100.0, 2 * 3600.0, 25 * 3600.0)))
    def clock_jumps(self, seconds: float) -> None:
        self.world.pass_time(seconds)
        self.stage.clock.jump(seconds)
        self._check()

    @rule()
    def clock_ticks(self) -> None:
        clocks.expire_reviews()
        assert clocks.wake_stranded() == 0
        for run_id in clocks.due_runs(limit=2, again=0):
            self.stage.workers.live(run_id)
        self._check()

    # People.

    @rule(
        index=which,
        verdict=st.sampled_from((decisions.APPROVE, decisions.APPROVE, decisions.REJECT)),
        who=which,
    )
    def decide(self, index: int, verdict: str, who: int) -> None:
        review = self._open(index, lifecycle.ReviewKind.ACTION)
        if review is not None:
            self._try(lambda: self._send(review, verdict, self.stage.reviewers[who % 2]))

    @rule(index=which, end=st.sampled_from(("", *workers.ENDS)), at=st.integers(min_value=1, max_value=20))
    def release_and_work(self, index: int, end: str, at: int) -> None:
        """Everybody agrees to an action, and a worker that takes it up meets its end, or doesn't."""
        review = self._open(index, lifecycle.ReviewKind.ACTION)
        for who in self.stage.reviewers if review is not None else ():
            assert review is not None
            review.refresh_from_db()
            if review.status == lifecycle.Review.OPEN:
                self._try(partial(self._send, review, decisions.APPROVE, who))
        self.advance_until_its_end(index, end, at)

    @rule(index=which, act=st.sampled_from(MEDDLING))
    def meddle(self, index: int, act: str) -> None:
        """Somebody takes back, holds, goes on, stops, pauses everything or changes the policy."""
        match act:
            case "withdraw":
                self.withdraw(index)
            case "pause all" | "go on":
                self.pause_all(act == "pause all")
            case "pause" | "resume" | "stop":
                self.hold(index, act)
            case _:
                self.policy_changes(act)

    def withdraw(self, index: int) -> None:
        asked = models.Review.objects.filter(run_id__in=self.runs, status="approved").order_by("-pk")
        review = asked.first()
        if review is not None:
            self._try(lambda: decisions.withdraw(review.pk, by=self.stage.reviewers[index % 2]))

    @rule(index=which, wish=st.sampled_from((decisions.ABSENT_DO, decisions.ABSENT_LEAVE, decisions.UNKNOWN)))
    def answer_in_doubt(self, index: int, wish: str) -> None:
        review = self._open(index, lifecycle.ReviewKind.IN_DOUBT)
        if review is None or review.action is None or review.action.occurrence is None:
            return
        occurrence, now = review.action.occurrence, clock_time.now()
        early = now < occurrence.horizon
        if self.world.count(occurrence.key) and wish != decisions.UNKNOWN:
            self._try(lambda: self._send(review, decisions.HAPPENED, self.stage.reviewers[0], receipt="seen"))
        elif self._try(lambda: self._send(review, wish, self.stage.reviewers[0], rendered_at=now)):
            assert wish == decisions.UNKNOWN or not early, "absence was taken from a look before the horizon"

    @rule(index=which, verdict=st.sampled_from((decisions.RETRY, decisions.STOP)))
    def answer_failure(self, index: int, verdict: str) -> None:
        review = self._open(index, lifecycle.ReviewKind.FAILURE)
        if review is not None:
            self._try(lambda: self._send(review, verdict, self.stage.operator))

    def hold(self, index: int, act: str) -> None:
        run = self._run(index).pk
        match act:
            case "pause" if self._try(lambda: holds.pause(run, reason="wait", by=self.stage.reviewers[0])):
                self.watch.halted.add(run)
            case "resume" if self._try(lambda: holds.resume(run, by=self.stage.operator)):
                self.watch.halted.discard(run)
            case "stop" if self._try(lambda: holds.stop(run, reason="enough", by=self.stage.operator)):
                self.watch.halted.add(run)

    def pause_all(self, paused: bool) -> None:
        self.watch.paused = False
        switches.pause_all(paused, by=self.stage.admin, reason="Test.")
        self._check()
        self.watch.paused = paused

    def policy_changes(self, name: str) -> None:
        document = {"version": 1, "rules": POLICIES[name]}
        switches.set_policy(document, reason="to see", by=self.stage.admin)
        self._check()
        self.watch.denied = frozenset({"small.lookup"} if name == "ban" else ())

    @rule(index=which, attempt=st.integers(min_value=1, max_value=3))
    def evidence_arrives(self, index: int, attempt: int) -> None:
        sent = models.Action.objects.filter(run_id__in=self.runs, attempt__gte=1).order_by("-pk")[:4]
        if not sent:
            return
        action = sent[index % len(sent)]
        assert action.occurrence is not None
        key, number = action.occurrence.key, min(attempt, action.attempt)
        if any(known == key for _, known, at in self.world.applied if at == number):
            content: dict[str, Any] = {"summary": "Sent.", "value": None}
            evidence.append(action.pk, attempt=number, outcome="happened", source="worker", content=content)
        elif clock_time.now() > action.occurrence.horizon:
            content = {"summary": "Not sent.", "reason": "not sent"}
            evidence.append(
                action.pk, attempt=number, outcome="did_not_happen", source="worker", content=content
            )
        self._check()

    # The end: with workers that live and people who answer, every run comes to its end.

    def teardown(self) -> None:
        while self.stage.workers.stalled:
            self.zombie_comes_back(0)
        self.world.faults.clear()
        self.world.blind = False
        self.pause_all(False)
        self.policy_changes("usual")
        for turn in range(40):
            if not [run for run in self.runs if self._settle(self._run(self.runs.index(run)), turn)]:
                break
        left = [(run.pk, run.status, run.reason, run.error) for run in map(self._run, range(len(self.runs)))
                if run.status not in lifecycle.RUN_ENDED]  # fmt: skip
        assert not left, f"lost: {left}"
        self._check(verify=True)
        doubled = always.doubled(self.runs, self.world)
        assert not doubled, "\n".join(doubled)
        self.told["intents"] += self.watch.intents

    def _settle(self, run: models.Run, turn: int) -> bool:
        """Do what is left to do for a run; return whether that was anything."""
        if run.status in lifecycle.RUN_FINAL:
            return False
        if run.hold_by_id is not None:
            self.hold(self.runs.index(run.pk), "resume")
        asked = models.Review.objects.filter(run=run, status="open").select_related("action__occurrence")
        for review in asked.order_by("pk"):
            self._answer(review, turn)
        if run.status == lifecycle.Run.FAILED and not asked.exists():
            return False
        self.clock_jumps(100.0)
        clocks.expire_reviews()
        assert clocks.wake_stranded() == 0
        self.advance(self.runs.index(run.pk))
        return True

    def _answer(self, review: models.Review, turn: int) -> None:
        operator, (first, second) = self.stage.operator, self.stage.reviewers
        if review.kind == lifecycle.ReviewKind.FAILURE:
            self._try(lambda: self._send(review, decisions.RETRY if turn < 8 else decisions.STOP, operator))
        elif review.kind == lifecycle.ReviewKind.ACTION:
            for who in (first, second):
                review.refresh_from_db()
                if review.status == "open":
                    self._try(partial(self._send, review, decisions.APPROVE, who))
        elif review.kind == lifecycle.ReviewKind.QUESTION:
            self.tell(review)
        elif review.action is not None and review.action.occurrence is not None:
            self.clock_jumps(200.0)
            if self.world.count(review.action.occurrence.key):
                self._try(lambda: self._send(review, decisions.HAPPENED, first, receipt="seen"))
            else:
                now = clock_time.now()
                self._try(lambda: self._send(review, decisions.ABSENT_LEAVE, first, rendered_at=now))
