"""What must hold, beside what was found: medians and ranges of the repeats."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bar:
    """One figure: what it is, and what it must be at least or at most. Without either it is only shown."""

    what: str
    unit: str = ""
    least: float | None = None
    most: float | None = None

    def met(self, value: float) -> bool:
        """Return whether this value is good enough."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


BARS: dict[str, Bar] = {
    "l1": Bar(what="floor L1: one row and one update in one commit", unit="/s"),
    "l2": Bar(what="floor L2: the same twice", unit="/s"),
    "step_of_l1": Bar(what="a model reply or a read, against L1", unit="x", least=0.65),
    "asked_step_of_l1": Bar(what="the same where the provider is asked elsewhere", unit="x"),
    "step_ceiling": Bar(what="what its statements alone would allow, if Python took no time", unit="x"),
    "effect_of_l2": Bar(what="reply with intent, and result, in two commits, against L2", unit="x", least=0.55),
    "effect_ceiling": Bar(what="what its statements alone would allow", unit="x"),
    "turn_of_l2": Bar(what="the same in one commit, as the provider answers from what is here", unit="x"),
    "fused_of_l2": Bar(what="results fused with the next intent, against L2", unit="x", least=0.80),
    "fused_ceiling": Bar(what="what its statements alone would allow", unit="x"),
    "flat_median": Bar(what="last 5 % of the steps against the first, middle step", unit="x", most=1.1),
    "flat_sum": Bar(what="the same, all steps together", unit="x"),
    "bytes_per_effect": Bar(what="an effect with 1 kB, tables and indexes, VACUUM FULL", unit="bytes", most=2500),
    "bytes_as_left": Bar(what="the same, not vacuumed", unit="bytes"),
    "bytes_with_reply": Bar(what="the same, each effect proposed by a reply of its own", unit="bytes"),
    "commits_per_effect": Bar(what="commits of a reply and an effect whose intent and result stand apart", most=2.0),
    "commits_per_turn": Bar(what="the same where the provider answers from what is here", most=2.0),
    "commits_per_fused": Bar(what="commits of an effect among released ones", most=2.0),
    "commits_per_reply": Bar(what="commits of a model reply", most=1.0),
    "commits_per_asked_read": Bar(what="commits of a read", most=1.0),
    "commits_per_read": Bar(what="commits of both where the provider answers from what is here", most=2.0),
    "now_and_then": Bar(what="commits of slices and of advances on the budget, for each of those effects"),
    "time_now_and_then": Bar(what="their share of the time", unit="x"),
    "written_per_turn": Bar(what="transactions that wrote, for a reply and an effect, heartbeat and vacuum included"),
    "statements_per_turn": Bar(what="statements for a reply and an effect"),
    "rows_per_turn": Bar(what="rows that they read or write"),
    "newest_page": Bar(what="newest page of the history, 50 lines", unit="ms", most=2.0),
    "shown_page": Bar(what="the same as the run's page reads it, 100 lines", unit="ms"),
    "whole_state": Bar(what="state rebuilt from the whole log, effects released together", unit="ms", most=25.0),
    "whole_state_long": Bar(what="the same, each effect proposed by a reply of its own", unit="ms"),
    "redrive": Bar(what="going on from the middle, until it can be claimed", unit="ms", most=10.0),
    "four_at_once": Bar(what="four runs at once in one process, against one", unit="x", least=1.5),
    "recovery_of_allowed": Bar(what="recovery after kill -9, of lease or deadline and two sweeps", unit="x", most=1.0),
    "recovery_seconds": Bar(what="the same in seconds", unit="s"),
    "waiting_queries": Bar(what="queries that waiting runs add to a sweep and an idle worker", most=0.0),
    "waiting_slices": Bar(what="slots that they take", most=0.0),
    "sweep_without": Bar(what="sweep and idle worker, no run waiting", unit="ms"),
    "sweep_with": Bar(what="the same beside the waiting runs", unit="ms"),
    "approve_p50_short": Bar(what="approval to intent through Celery, N = 50, p50", unit="ms", most=8.0),
    "approve_p95_short": Bar(what="the same, p95", unit="ms", most=60.0),
    "approve_p50_long": Bar(what="approval to intent through Celery, N = 1,000, p50", unit="ms", most=8.0),
    "approve_p95_long": Bar(what="the same, p95", unit="ms", most=60.0),
    "idle_statements": Bar(what="statements that waiting runs add to a sweep and an idle worker", most=0.0),
    "idle_sweep": Bar(what="time of a sweep and an idle worker beside them, against without", unit="x", most=1.3),
    "idle_sweep_without": Bar(what="a sweep and an idle worker, no run waiting", unit="ms"),
    "idle_sweep_with": Bar(what="the same beside the waiting runs", unit="ms"),
    "idle_cpu": Bar(what="of one core, what they add to an idle worker and clock", unit="%", most=1.0),
    "idle_cpu_without": Bar(what="of one core, an idle worker and clock, no run waiting", unit="%"),
    "idle_cpu_with": Bar(what="the same beside the waiting runs", unit="%"),
    "idle_commits": Bar(what="transactions a second that they add to an idle site", most=0.5),
    "idle_claim": Bar(what="a new run until it is claimed, p50, beside them, against without", unit="x", most=1.3),
    "idle_claim_without": Bar(what="a new run until it is claimed through Celery, no run waiting, p50", unit="ms"),
    "idle_claim_with": Bar(what="the same beside the waiting runs", unit="ms"),
    "beside_flat": Bar(what="a step of the last tenth of the longest run, against the first", unit="x", most=1.3),
    "beside_bytes": Bar(what="bytes a step of the longest run, against one of 200 steps", unit="x", most=1.1),
    "beside_dbos_intent": Bar(what="steps a second, against DBOS with intents, the worst size", unit="x", least=1.0),
    "beside_langgraph_intent": Bar(what="the same, against LangGraph with intents", unit="x", least=1.0),
}  # fmt: skip


def judged(found: Mapping[str, Sequence[float]]) -> dict[str, dict[str, Any]]:
    """Return each figure with its median, range and bar, in the order of the bars."""
    return {
        name: {
            "what": bar.what,
            "unit": bar.unit,
            "median": _rounded(statistics.median(found[name])),
            "range": [_rounded(min(found[name])), _rounded(max(found[name]))],
            "at_least": bar.least,
            "at_most": bar.most,
            "ok": bar.met(statistics.median(found[name])),
        }
        for name, bar in BARS.items()
        if name in found
    }


def lines(figures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the figures as a table for people."""
    return [_line(figure) for figure in figures.values()]


def _line(figure: Mapping[str, Any]) -> str:
    low, high = figure["range"]
    bar = ""
    if figure["at_least"] is not None:
        bar = f">= {figure['at_least']:g}"
    elif figure["at_most"] is not None:
        bar = f"<= {figure['at_most']:g}"
    verdict = ("ok" if figure["ok"] else "MISSED") if bar else ""
    return (
        f"{figure['what']:72} {figure['median']:>10,} {figure['unit']:6}"
        f" [{low:,} - {high:,}]  {bar:9} {verdict}"
    ).rstrip()


def _rounded(value: float) -> float:
    """Return the value with the digits that mean something."""
    return round(value) if abs(value) >= 1000 else round(value, 1 if abs(value) >= 100 else 3)
