"""Proving that the budgets add up: each account is what its runs have settled and what they still hold.

Advances outstanding are read from the run rows, and what a lineage has spent is counted anew from its logs. What a
day's account has spent no log tells apart, so of those only the advances are compared.

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

    def add(self, run: models.Run, used: state.Counters) -> None:
        """Take in one run; `used` are the counters of its own log, without what its path had used before."""
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
        now = run.used()
        for measure, held in (run.advance or {}).items():
            settled[measure] -= now[measure] - held["base"]
            for account in held["accounts"]:
                self.held[account] += held["amount"]
        if run.root_id == run.pk and run.fence:
            self.claimed.add(run.pk)

    def compare(self) -> None:
        """Refuse (Broken) the first account that isn't what its runs make it."""
        raised = _raised()
        found: dict[int, set[str]] = defaultdict(set)
        for account in models.Account.objects.order_by("pk").iterator(chunk_size=500):
            what = f"account {account.pk}"
            held = self.held.pop(account.pk, 0)
            if account.advanced != held:
                raise Broken(f"{what}: it counts {account.advanced} as reserved, its runs hold {held}")
            if account.root_id is not None:
                found[account.root_id].add(account.measure)
                spent = self.settled[account.root_id][account.measure]
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
            missing = _started(root).keys() & {measure.value for measure in measures.Measure} - found[root]
            if missing:
                raise Broken(f"run {root}: its account of {min(missing)} is gone")


def differences() -> list[str]:
    """Return what doesn't add up, each in one sentence; reads every log once."""
    books = Books()
    for run in models.Run.objects.order_by("pk").iterator(chunk_size=200):
        facts = told.Log()
        for line in models.Entry.objects.filter(run=run).order_by("position").iterator(chunk_size=500):
            facts.count(state.Entry(position=line.position, kind=line.kind, content=line.content))
        books.add(run, facts.used)
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


def _raised() -> Counter[int]:
    found: Counter[int] = Counter()
    for event in models.AuditEvent.objects.filter(act="budget.raised").iterator(chunk_size=500):
        found[int(event.subject.removeprefix("account "))] += event.content["after"] - event.content["before"]
    return found
