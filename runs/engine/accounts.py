"""Proving that the budgets add up: each account is what its runs have settled and what they still hold.

Advances outstanding are read from the run rows. What a lineage has spent is counted anew from its logs; on which day's
accounts a run has drawn its log says by itself.

The crash harness asks `differences()` when a trial is over; it must return nothing, whenever workers have died.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from runs import measures, models, state
from runs.engine import told
from runs.engine.comparing import Broken


class Books:
    """Collects what each run has used and holds, run after run; `compare` then holds it against the accounts."""

    def __init__(self) -> None:
        self.settled: dict[int, Counter[str]] = defaultdict(Counter)
        self.held: Counter[int] = Counter()
        self.claimed: set[int] = set()
        self.days: Counter[int] = Counter()
        self.over: Counter[int] = Counter()

    def add(self, run: models.Run, facts: told.Log) -> None:
        """Take in one run by what its own log says, without what its path had used before."""
        used = facts.used
        settled = self.settled[run.root_id]
        settled.update(
            {
                measures.Measure.STEPS: used.steps,
                measures.Measure.CALLS: used.calls,
                measures.Measure.TOKENS: used.tokens_in + used.tokens_out,
                measures.Measure.COST: used.cost_micro,
                measures.Measure.SECONDS: int(run.active_seconds),
            }
        )
        self.days.update(facts.settled)
        self.over.update(facts.over)
        settled.update({measures.of_tool(name): count for name, count in facts.tool_calls.items()})
        now = run.counted()
        for measure, held in (run.advance or {}).items():
            settled[measure] -= now[measure] - held["base"]
            for account in held["accounts"]:
                self.held.update({account: held["amount"]} if held["amount"] else {})
        if run.root_id == run.pk and run.fence:
            self.claimed.add(run.pk)

    def compare(self) -> None:
        """Refuse (Broken) the first account that isn't what its runs make it."""
        raised, last = _raised()
        found: dict[int, set[str]] = defaultdict(set)
        for account in models.Account.objects.order_by("pk").iterator(chunk_size=500):
            what = f"account {account.pk}"
            held = self.held.pop(account.pk, 0)
            if account.advanced != held:
                raise Broken(f"{what}: it counts {account.advanced} as reserved, its runs hold {held}")
            if account.root_id is None:
                self._day(account, last.pop(account.pk, None))
            else:
                last.pop(account.pk, None)
                found[account.root_id].add(account.measure)
                spent = self.settled[account.root_id][account.measure] + self.days.pop(
                    account.pk, 0
                )  # of children
                if account.spent != spent:
                    raise Broken(
                        f"{what}: it counts {account.spent} as spent, the logs of its runs say {spent}"
                    )
                limit = _started(account.root_id).get(account.measure)
                if limit is not None and account.limit != limit + raised[account.pk]:
                    raise Broken(f"{what}: its limit is not what the audit chain says")
        for number in self.held:
            raise Broken(f"account {number}: it is gone, but a run holds something of it")
        for root in sorted(self.claimed):
            missing = dict(measures.limits(_started(root))).keys() - found[root]
            if missing:
                raise Broken(f"run {root}: its account of {min(missing)} is gone")
        for number in (*self.days, *last):
            raise Broken(f"account {number}: it is gone, but it was drawn on or its limit was changed")

    def _day(self, account: models.Account, last: int | None) -> None:
        what, spent, over = f"account {account.pk}", self.days.pop(account.pk, 0), self.over[account.pk]
        if account.told and (account.spent, account.over) != (spent, over):
            raise Broken(
                f"{what}: it counts {account.spent} as spent, {account.over} in excess;"
                f" the logs of its runs say {spent} and {over}"
            )
        if last is not None and account.limit != last:
            raise Broken(f"{what}: its limit is not what the audit chain says")


def differences() -> list[str]:
    """Return what doesn't add up, each in one sentence; reads every log once."""
    books = Books()
    for run in models.Run.objects.order_by("pk").iterator(chunk_size=200):
        facts = told.Log()
        for line in models.Entry.objects.filter(run=run).order_by("position").iterator(chunk_size=500):
            facts.count(state.Entry(position=line.position, kind=line.kind, content=line.content))
        books.add(run, facts)
    try:
        books.compare()
    except Broken as error:
        return [str(error)]
    return []


def _started(root: int) -> dict[str, Any]:
    """Return the limits that the first run of a lineage was started with, as the audit chain has them."""
    event = models.AuditEvent.objects.filter(act__in=("run.started", "run.separated"), run=root).first()
    found = event.content.get("budget", {}) if event is not None else {}
    return {measure: limit for measure, limit in found.items() if limit is not None}


def _raised() -> tuple[Counter[int], dict[int, int]]:
    """Return by how much the chain says that each account's limit was raised in all, and to what at last."""
    found: Counter[int] = Counter()
    last: dict[int, int] = {}
    acts = models.AuditEvent.objects.filter(act__in=("budget.raised", "budget.set")).order_by("seq")
    for event in acts.iterator(chunk_size=500):
        of_one = event.act == "budget.raised"
        changed = [int(event.subject.removeprefix("account "))] if of_one else []
        changes = (
            [(changed[0], event.content["before"], event.content["after"])]
            if of_one
            else event.content["today"]
        )
        for account, before, after in changes:
            found[account] += after - before
            last[account] = after
    return found, last
