"""What a worker reads of a run: its frontier, never its whole log.

The open calls are the fold of the lines since the newest reply, because the provider is asked again only when every
call of the last reply is closed. Plan, counters and results come from the projections, whose size doesn't grow with
the run.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.conf import settings

from runs import lifecycle, models, planner, state
from runs.engine import failing, verdicts
from runs.models import columns, kept
from runs.providers import contract
from runs.tools import registry
from runs.transitions import clock_time, pins
from runs.transitions.steps import Claim, advances

if TYPE_CHECKING:
    from runs.engine import carrying

WINDOW = 32
"""How many open plan steps a provider sees at once."""

MOST_REPAIRS = 3
"""So often in a row a model is told why its reply can't be used; after one more a person is asked."""

OPEN_STEPS = (lifecycle.Step.PENDING, lifecycle.Step.ACTIVE)

_SINCE = "(SELECT reply_position FROM runs_run WHERE id = $1)"
_TAIL = f"run_id = $1 AND position >= greatest({_SINCE}, 1) ORDER BY position"
_OPEN_ACTIONS = f"run_id = $1 AND reply_position >= {_SINCE} AND status = ANY($2::varchar[])"
_OPEN = b"{%s}" % ",".join(lifecycle.ACTION_OPEN).encode()

_CALL_KINDS = (
    lifecycle.EntryKind.REPLY,
    lifecycle.EntryKind.CALL,
    lifecycle.EntryKind.REVISION,
    lifecycle.EntryKind.VERDICT,
    lifecycle.EntryKind.DECISION,
    lifecycle.EntryKind.INTENT,
    lifecycle.EntryKind.RECEIPT,
    lifecycle.EntryKind.RESULT,
)


@dataclass(frozen=True, kw_only=True)
class Frontier:
    """The run row, its open calls and what the planner needs to know about them."""

    claim: Claim
    run: models.Run
    agent: contract.AgentSpec
    situation: planner.Situation
    actions: dict[state.CallId, models.Action]
    arguments: Mapping[state.CallId, Any]
    policy: verdicts.InForce
    more: bool
    repairs: int
    read_at: float
    read_now: datetime.datetime
    pending: carrying.Pending | None = None

    def now(self) -> datetime.datetime:
        """Return the database's time, told by this process' steady clock since the frontier was read.

        The statement that starts an effect refuses when the two have parted.
        """
        return self.read_now + datetime.timedelta(seconds=time.monotonic() - self.read_at)


def load(claim: Claim, *, looked: frozenset[state.CallId] = frozenset()) -> Frontier:
    """Return the frontier of the claimed run. The number of queries is fixed."""
    number = columns.number(claim.run_id)
    read_at = time.monotonic()  # before the database's time: a deadline may be told too late, never too early
    # The policy after the inbox number: whoever narrows what may run raises it afterwards.
    (run,), lines, rows, (installation,), now = columns.together(
        columns.asked(models.Run, "id = $1", [number]),
        columns.asked(models.Entry, _TAIL, [number]),
        columns.asked(models.Action, _OPEN_ACTIONS, [number, _OPEN]),
        columns.asked(models.Installation, "id = $1", [columns.number(1)]),
        clock_time.ASKED,
    )
    columns.follow(rows, "occurrence", "blocked_by")
    tail: list[state.Line] = [row for row in lines if row.kind in _CALL_KINDS]
    current = replace(
        state.fold(tail),
        position=run.position,
        input=run.input,
        plan=_window(run),
        plan_version=run.plan_version,
        approved_plan=run.approved_plan,
        counters=counters(run),
    )
    actions = {(row.reply_position, row.call_index): row for row in rows}
    agent, force = spec(run.agent_version_id), verdicts.of_installation(installation)
    read_first = agent.approve_plan and run.mode == models.Run.Mode.LIVE
    failed = failing.step(run)
    repairs, unusable = _repairs(lines)
    asked, refused = plan_review(run) if read_first and not run.approved_plan else (False, "")
    situation = planner.Situation(
        state=current,
        now=now,
        inbox=run.inbox,
        folded=run.folded,
        stop=run.stop_at is not None,
        hold=run.hold_by_id is not None,
        switched_off=force.paused_all or agent.name in force.paused_agents,
        paused_tools=force.paused_tools,
        ordered=agent.ordered,
        attempts=run.attempts,
        poison=int(settings.CKPTSITE["POISON"]),
        max_sends=int(settings.CKPTSITE["MAX_SENDS"]),
        tools=tools(current.open_calls()),
        first_sent=first_sent(actions),
        retry_at=_retries(tail),
        blocked=frozenset(call for call, row in actions.items() if _blocks(row)),
        looked=looked,
        failed_step=failed,
        compensation=failing.compensation(run) if failed else None,
        trouble=run.error,
        unusable=unusable,
        pins=_pinned(run, agent),
        approve_plan=read_first,
        plan_asked=asked,
        plan_refused=refused,
        left=advances.left(run, now),
    )
    return Frontier(
        claim=claim,
        run=run,
        agent=agent,
        situation=situation,
        actions=actions,
        arguments=_arguments(tail),
        policy=force,
        more=len(current.plan) == WINDOW,
        repairs=repairs,
        read_at=read_at,
        read_now=now,
    )


def counters(run: models.Run) -> state.Counters:
    """Return the run's counters as they stand on its row."""
    return state.Counters(
        steps=run.steps,
        calls=run.calls,
        tokens_in=run.tokens_in,
        tokens_out=run.tokens_out,
        cost_micro=run.cost_micro,
        cost_known=run.cost_known,
    )


def _pinned(run: models.Run, agent: contract.AgentSpec) -> planner.Pinned:
    """Return how what is installed compares to what the run started with; asks no database."""
    installed = pins.digest_now(agent.provider, agent.tools)
    if run.pins_id is None or run.pins_id == installed:
        return planner.Pinned.SAME if run.offered_id is None else planner.Pinned.RESTORED
    return planner.Pinned.ASKED if run.offered_id == installed else planner.Pinned.CHANGED


def plan_review(run: models.Run) -> tuple[bool, str]:
    """Return whether the current plan is before a person, and why the run can't go on if they refused it."""
    review = models.Review.objects.filter(run=run, kind=lifecycle.ReviewKind.PLAN).order_by("-pk").first()
    if review is None or review.revision != run.plan_version:
        return False, ""
    if review.status == lifecycle.Review.OPEN:
        return True, ""
    failed = models.Review.objects.filter(run=run, kind=lifecycle.ReviewKind.FAILURE, pk__gt=review.pk)
    if failed.exists():  # it has failed for this already, and a person had it tried again
        return False, ""
    if review.status == lifecycle.Review.EXPIRED:
        return False, "Nobody approved the plan in time."
    last = review.decisions.select_related("person").order_by("-pk").first()
    if review.status != lifecycle.Review.REJECTED or last is None:
        return False, ""
    return False, f"{last.person.display()} rejected the plan: {last.reason}"


@kept.by_number(256)
def spec(version_id: int) -> contract.AgentSpec:
    """Return the pinned agent version; versions are immutable, so it is kept."""
    row = models.AgentVersion.objects.select_related("agent").get(pk=version_id)
    return contract.AgentSpec(
        name=row.agent.name,
        number=row.number,
        provider=row.provider,
        model=row.model,
        instructions=row.instructions,
        tools=tuple(row.tools),
        definition=row.definition,
        ordered=row.ordered,
        approve_plan=row.approve_plan,
    )


def _window(run: models.Run) -> tuple[state.PlanStep, ...]:
    if not run.plan_version:
        return ()
    rows = models.PlanStep.objects.filter(run=run, state__in=OPEN_STEPS).order_by("order")[:WINDOW]
    return tuple(state.PlanStep(id=row.key, title=row.title, body=row.body, state=row.state) for row in rows)


def first_sent(actions: Mapping[state.CallId, models.Action]) -> dict[state.CallId, datetime.datetime]:
    """Return when the first request of each open effect was sent."""
    return {
        call: row.occurrence.first_sent_at
        for call, row in actions.items()
        if row.occurrence_id
        is not None  # most have none, and to ask for it costs less than to ask for the row
        and row.occurrence is not None
        and row.occurrence.first_sent_at is not None
    }


def _arguments(tail: Iterable[state.Line]) -> dict[state.CallId, Any]:
    """Return the arguments of the open calls: of the newest reply, or opened again at the cut, as last revised."""
    found: dict[state.CallId, Any] = {}
    for entry in tail:
        content = entry.content
        if entry.kind == lifecycle.EntryKind.REPLY:
            found |= {(entry.position, at): call["arguments"] for at, call in enumerate(content["calls"])}
        elif (
            entry.kind in {lifecycle.EntryKind.CALL, lifecycle.EntryKind.REVISION} and "arguments" in content
        ):
            found[content["call"][0], content["call"][1]] = content["arguments"]
    return found


def tools(
    calls: Iterable[state.CallState], *, known: Mapping[str, planner.ToolFacts] | None = None
) -> dict[str, planner.ToolFacts]:
    """Return what the planner needs of the tools of these calls; a tool that is gone has nothing."""
    found: dict[str, planner.ToolFacts] = dict(known or {})
    for call in calls:
        if call.is_control or call.tool in found:
            continue
        try:
            tool = registry.get(call.tool)
        except registry.UnknownTool:
            continue
        found[call.tool] = planner.ToolFacts(
            protection=tool.protection, key_window=tool.key_window, hands_off=bool(tool.hands_to)
        )
    return found


def _repairs(lines: Iterable[state.Line]) -> tuple[int, str]:
    """Return how many replies in a row could not be used, and why the model isn't asked again, if it isn't."""
    number, why = 0, ""
    for line in lines:
        content = line.content
        if line.kind == lifecycle.EntryKind.MESSAGE and content.get("code") == "repair":
            number = content["number"]
            why = content["text"] if content["final"] else ""
            if not why and number > MOST_REPAIRS:
                why = f"The model's replies could not be used {number} times in a row: {content['cause']}."
        elif line.kind == lifecycle.EntryKind.NOTE and content.get("reopened"):
            number, why = 0, ""
    return number, why


def _retries(tail: list[state.Line]) -> dict[state.CallId, datetime.datetime]:
    found: dict[state.CallId, datetime.datetime] = {}
    for entry in tail:
        moment = entry.content.get("retry_at") if entry.kind == lifecycle.EntryKind.RECEIPT else None
        if moment:
            call = entry.content["call"]
            found[(call[0], call[1])] = datetime.datetime.fromisoformat(moment)
    return found


def _blocks(action: models.Action) -> bool:
    open_still = (lifecycle.Occurrence.OPEN, lifecycle.Occurrence.UNKNOWN)
    return action.blocked_by is not None and action.blocked_by.state in open_still
