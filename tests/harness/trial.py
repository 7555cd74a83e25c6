"""One trial: a run, its processes that die as planned, the people who answer, until it has ended and is judged."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Generator
from dataclasses import replace
from typing import Any

from runs import lifecycle
from tests.harness import bots
from tests.harness.hands import Report
from tests.harness.outcome import Look, Outcome, look
from tests.harness.plan import Death, Plan
from tests.harness.theatre import Await, Go, Order, Steps
from tests.harness.world import LATE_SECONDS, PACE, World

WHIMS = ("stop", "pause", "expire", "edit", "extend", "strand", "redrive", "fork", "separate")
"""What people may do instead of answering."""
TURNS, WITHIN = 50, 60.0 * PACE
"""A trial that has had so many turns in so many seconds comes to no end; time alone may pass for others' sake."""
STALLED_WITHIN = 3.0 * PACE
MEANWHILE = 0.06 * PACE
"""How long somebody who acts while a process stands still with locks is given, before that goes on."""
TRIES = 12
FROZEN = ("idle-in-transaction", "server closed the connection")
"""What befalls a process that stood still with locks in hand: it loses them, and its act comes to nothing."""
STILL = 6.0 * PACE
"""So many orders in a row that change nothing, for so many seconds, mean that nothing will."""
TICKS = 3
"""A clock ticks before each third look of a worker, and whenever something may befall it there."""

Acting = Generator["Steps | float", list[Report], Any]


class Trial:
    """Plays one plan."""

    def __init__(self, plan: Plan, world: World, *, longest: float) -> None:
        self.plan, self.world = plan, world
        self.outcome, self.longest = Outcome(plan), longest
        self._deaths = deque(plan.deaths)
        self._turn = 0
        self._stalled: list[int] = []
        self._acks: list[dict[str, Any]] = []
        self._died_at, self._root, self._orders, self._all_paused = 0.0, 0, 0, False
        self._acted: Counter[str] = Counter()
        self._once_more = plan.chance("once more").random() < plan.people.once_more

    def play(self) -> Generator[Steps | float, list[Report], Outcome]:
        """Play it to its end and judge it."""
        began = time.monotonic()
        yield from self._start()
        last, same, turns, moved = self.look(), 0, 0, time.monotonic()
        while not (last.status in lifecycle.RUN_ENDED and not last.open) or self._once_more:
            if last.status in lifecycle.RUN_ENDED and not last.open:
                self._once_more = False
            still = time.monotonic() - moved
            turns += 1
            if (turns > TURNS and time.monotonic() - began > WITHIN) or (same > TRIES and still > STILL):
                self.outcome.violations.append(f"lost: it stays {last.status} and nothing moves it")
                break
            pause = yield from self._move(last)
            if pause > 0:
                yield pause
            now = self.look()
            same = same + 1 if now.moved == last.moved and pause <= 0.02 else 0
            if not same:
                moved = time.monotonic()
            elif same > TRIES // 2:
                yield STILL / TRIES
            last = now
        yield LATE_SECONDS + 0.05
        if self.plan.policy:
            yield from self._act("policy")
        yield from self._judge()
        self.outcome.seconds = time.monotonic() - began
        return self.outcome

    def look(self, one: int = 0) -> Look:
        """Return the attempt that something is to be done about, maybe one below; with `one` that, whatever it is."""
        found = look(self._root, one=one if self.plan.handed else 0)
        self.outcome.run = found.run
        return found

    def _start(self) -> Acting:
        tag = self.tag = f"{self.plan.tag}-{self.plan.seed}"
        given, faults = self.plan.given(tag)
        self.outcome.names = list(faults)
        self.world.plan(faults | {tag: list(self.plan.reads), f"{tag}-again": [], f"{tag}-below": []})
        while (report := (yield from self._do("start", {"given": given, "token": tag}))).how != "done":
            continue  # whoever asked sends the same form again
        self.outcome.run = self._root = report.value
        if self.plan.policy:
            yield from self._act(self.plan.policy)

    def _move(self, now: Look) -> Generator[Steps | float, list[Report], float]:
        """Do what is next; return how long there is nothing to do."""
        if self._all_paused and now.status != lifecycle.Run.RUNNING:
            self._all_paused = False
            yield from self._act("resume_all")
            return 0.0
        if now.status in {lifecycle.Run.QUEUED, lifecycle.Run.RUNNING} and now.due <= 0:
            yield from self._work()
            return 0.0
        if now.status in lifecycle.RUN_ENDED and not now.open:
            yield from self._act("redrive")
            return 0.0
        if now.status == lifecycle.Run.PAUSED:
            yield from self._act("resume")
            return 0.0
        if now.open and now.status != lifecycle.Run.RUNNING:
            pause = yield from self._people()
            return min(max(pause, 0.03), now.due) if now.status == lifecycle.Run.QUEUED else pause
        if now.due > 0:
            return now.due + 0.002
        yield from self._work()
        return 0.0

    def _work(self) -> Acting:
        after = self._deaths[0].act if self._deaths and self._deaths[0].how == "kill" else ""
        self._orders += 1
        tick = self._orders % TICKS == 0 or bool(self._deaths and self._deaths[0].may_strike_a_clock())
        report = yield from self._do("work", {"run": self.outcome.run, "tick": tick})
        if report.how == "died":
            self._recovering()
            if after:
                yield from self._act(after)
            if self.plan.chance("age", len(self.outcome.fired)).random() < self.plan.age:
                yield LATE_SECONDS + 0.05
                yield from self._do("age", {"run": self.outcome.run, "names": self.outcome.names})
        elif report.how == "done" and report.value["claimed"] and self._died_at:
            self.outcome.recoveries.append(time.monotonic() - self._died_at)
            self._died_at = 0.0

    def _recovering(self) -> None:
        """A worker died: no lease may last longer than the time of an effect."""
        now = self.look()
        if now.status == lifecycle.Run.RUNNING:
            self._died_at = self._died_at or time.monotonic()
            if now.due > self.longest + 0.05:
                self.outcome.violations.append(f"slow: nobody may take it over for {now.due:.1f} s")

    def _people(self) -> Generator[Steps | float, list[Report], float]:
        self._turn += 1
        likely, dice = self.plan.people, self.plan.chance("turn", self._turn)
        for what in WHIMS:
            if dice.random() < getattr(likely, what) and self._acted[what] < max(2, len(self.plan.deaths)):
                yield from self._act(what)
                yield from self._work()
                return 0.0
        given = {"run": self.outcome.run, "plan": self.plan.as_json(), "turn": self._turn}
        orders = [("people", given | {"who": bots.REVIEWERS[0]})]
        if dice.random() < likely.race or self.plan.policy == "quorum":
            orders.append(("people", given | {"who": bots.REVIEWERS[1]}))
        reports = yield from self._side_by_side(orders)
        if dice.random() < likely.withdraw and self._acted["withdraw"] < 2:
            yield from self._act("withdraw")
        pauses = [report.value["pause"] for report in reports if report.how == "done"]
        return max(pauses, default=0.0)

    def _act(self, what: str) -> Acting:
        order = ("people", self._meanwhile()) if what == "approve" else self._acting(what)
        report = yield from self._do(*order)
        self._acted[what] += 1
        self._note(what, report)

    def _acting(self, what: str) -> tuple[str, dict[str, Any]]:
        # Where work was handed over, every other stop is one from above.
        above = self.plan.handed and what == "stop" and not self._acted[what] % 2
        dice = bots.FIRST if self.plan.twice else f"{self.plan.seed}-{self._acted[what]}"
        run = look(self._root).above if above else self.outcome.run
        return "act", {"run": run, "what": what, "dice": dice}

    def _meanwhile(self) -> dict[str, Any]:
        self._turn += 1
        who = bots.REVIEWERS[1]
        return {"run": self.outcome.run, "plan": self.plan.as_json(), "turn": self._turn, "who": who}

    def _note(self, what: str, report: Report) -> None:
        """Remember what was acknowledged, and how many intents were committed then."""
        if what == "pause_all" or (what == "resume_all" and report.how != "done"):
            self._all_paused = True
        if report.how == "done" and what != "approve":
            self._acks.append({"what": what, **report.value})

    def _do(self, do: str, given: dict[str, Any]) -> Generator[Steps | float, list[Report], Report]:
        reports = yield from self._side_by_side([(do, given)])
        return reports[0]

    def _side_by_side(
        self, orders: list[tuple[str, dict[str, Any]]]
    ) -> Generator[Steps | float, list[Report], list[Report]]:
        """Give these orders at once; the first meets what the plan has next."""
        death = self._deaths[0] if self._deaths and orders[0][0] not in {"age", "judge"} else None
        steps = tuple(
            Order(do=do, given=given, death=death if index == 0 else None)
            for index, (do, given) in enumerate(orders)
        )
        first, *others = yield Steps(steps)
        struck = self._struck(first)
        while first.how in {"stalled", "asks"} and death is not None:
            self._count(first)
            do = orders[0][0]
            first = yield from (
                self._stall(first, death, do) if first.how == "stalled" else self._ask(first, death)
            )
            death = death.then
            struck = self._struck(first) or struck
        if self._deaths and (struck or first.how in {"died", "ended"}):
            self._deaths.popleft()
        elif self._deaths and death is not None:
            self._deaths[0] = replace(death, at=max(1, death.at - first.count))
        for report in (first, *others):
            self._count(report)
        return [first, *others]

    def _struck(self, report: Report) -> bool:
        """Return whether something befell a process, and write it down."""
        befell = report.how in {"died", "stalled", "asks"}
        if befell:
            self.outcome.fired.append((report.how, report.point))
            self.outcome.counts[report.how] += 1
        return befell or report.struck

    def _count(self, report: Report) -> None:
        self.outcome.passed.update(report.passed)
        if report.how == "done" and isinstance(report.value, dict):
            self.outcome.counts.update(report.value.get("counts", {}))
        if report.how == "fault" and not any(words in report.value for words in FROZEN):
            self.outcome.violations.append(f"fault: {report.value}")

    def _stall(self, report: Report, death: Death, do: str) -> Generator[Steps | float, list[Report], Report]:
        """A process stands still; a worker is taken over once its lease is over, and then goes on."""
        self._stalled.append(report.hand.pid)
        end = time.monotonic() + STALLED_WITHIN
        rivals: tuple[Order, ...] = ()
        its = self.outcome.run
        if do == "work":
            while (now := self.look(its)).status == lifecycle.Run.RUNNING and 0 < now.due < STALLED_WITHIN:
                if time.monotonic() > end:
                    break
                yield now.due + 0.005
            rivals = (Order(do="work", given={"run": its}, death=death.theirs),)
        else:
            yield MEANWHILE
        if rivals and not death.beside:
            (rival,) = yield Steps(rivals)
            self._count(rival)
            rivals = ()
            if rival.how == "asks":  # who took over stands still in turn, while the first one goes on
                before = self.look().lines
                (first,) = yield Steps((Go(report.hand),), within=STALLED_WITHIN)
                if self.look().lines != before:
                    self.outcome.violations.append("unfenced: who had lost the run has written to its log")
                waits = (Await(report.hand),) if first.how == "pending" else ()
                rival, *late = yield Steps((Go(rival.hand), *waits))
                self._count(rival)
                return late[0] if late else first
        first, *others = yield Steps((Go(report.hand), *rivals))
        for other in others:
            self._count(other)
        return first

    def _ask(self, report: Report, death: Death) -> Generator[Steps | float, list[Report], Report]:
        """A process stands still while somebody else acts; if that has to wait for it, both go on together."""
        if not self.outcome.run:  # nobody can act on what isn't there
            (first,) = yield Steps((Go(report.hand),))
            return first
        what = death.act
        do, given = ("people", self._meanwhile()) if what == "approve" else self._acting(what)
        within = MEANWHILE if report.point.endswith(".before_commit") else None
        (acted,) = yield Steps((Order(do=do, given=given, death=death.theirs),), within=within)
        if acted.how == "pending":
            first, acted = yield Steps((Go(report.hand), Await(acted.hand)))
        else:
            (first,) = yield Steps((Go(report.hand),))
        self._count(acted)
        self._struck(acted)
        self._note(what, acted)
        return first

    def _judge(self) -> Acting:
        notes = {
            "stalled": self._stalled,
            "acks": self._acks,
            "allowed": self.plan.policy == "allow",
            "too_early": self.outcome.counts["too_early_taken"],
        }
        kept = len(self.outcome.names) - self.plan.handed
        given = {"run": self._root, "names": [*self.outcome.names[:kept], self.tag]}
        given["below"] = [*self.outcome.names[kept:], f"{self.tag}-below"]
        report = yield from self._do("judge", given | {"notes": notes})
        self.outcome.violations += report.value["violations"] if report.how == "done" else []
        self.outcome.violations = [f"run {self.outcome.run}: {line}" for line in self.outcome.violations]
        facts = self.world.facts(self.outcome.names)
        self.outcome.counts["effects"] += sum(len(found["applied"]) for found in facts.values())
