"""Carrying a frontier from move to move, so that a plain step reads nothing and commits once.

While a run is leased only its engine writes its log, status, actions and plan; whatever others leave raises the inbox
number, which each commit returns. So after a plain commit the frontier moves on by the lines that were written, and is
read again as soon as the inbox number has moved, or when something happened that isn't plain.

What is known may wait for what follows it, so that all of it is one commit: a receipt or the result of a read for the
reply of a provider that answers from what is here, and each of them, or a reply, for the next intent. Only pure work
lies between: nothing outside is asked while anything waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from runs import lifecycle, state
from runs.engine import frontier as frontiers
from runs.engine import keeping
from runs.engine.frontier import Frontier
from runs.engine.heartbeat import Heartbeat
from runs.frozen import replace
from runs.transitions import evidence, log, steps
from runs.transitions.refusals import Changed, LostAuthority
from runs.transitions.steps import advances


class Away(Changed):
    """The database was away at a commit, or its answer was lost; what was known is stored by now."""


@dataclass(frozen=True, kw_only=True)
class Received:
    """A receipt in this process' hands, which must not be lost whatever happens to run or database."""

    claim: steps.Claim
    call: state.CallId
    intent: steps.Intent
    receipt: dict[str, Any]
    beat: Heartbeat

    def testify(self) -> None:
        """Leave it as evidence: this worker no longer holds the run."""
        evidence.append(
            self.intent.action_id,
            attempt=self.intent.attempt,
            outcome="happened",
            source="worker",
            content=self.receipt,
        )

    def keep(self, *, failed: bool) -> None:
        """Store it the long way, again and again while the database is away."""
        keeping.keep(
            lambda: steps.happened(self.claim, self.call, attempt=self.intent.attempt, receipt=self.receipt),
            testify=self.testify,
            beat=self.beat,
            failed=failed,
        )


Meanwhile = Callable[[], object]
Write = Callable[[steps.OneStatement, int | None, Meanwhile], int]


def nothing() -> None:
    """Do nothing while a commit is under way."""


COMMITS: dict[str, Write] = {
    "read": lambda work, seen, more: work.commit("read", seen=seen, meanwhile=more),
    "read_intent": lambda work, seen, more: work.commit("read_intent", seen=seen, meanwhile=more),
    "read_reply": lambda work, seen, more: work.commit("read_reply", seen=seen, meanwhile=more),
    "read_reply_intent": lambda work, seen, more: work.commit("read_reply_intent", seen=seen, meanwhile=more),
    "reply": lambda work, seen, more: work.commit("reply", seen=seen, meanwhile=more),
    "reply_intent": lambda work, seen, more: work.commit("reply_intent", seen=seen, meanwhile=more),
    "happened": lambda work, seen, more: work.commit("happened", seen=seen, meanwhile=more),
    "happened_intent": lambda work, seen, more: work.commit("happened_intent", seen=seen, meanwhile=more),
    "happened_reply": lambda work, seen, more: work.commit("happened_reply", seen=seen, meanwhile=more),
    "happened_reply_intent": lambda work, seen, more: work.commit(
        "happened_reply_intent", seen=seen, meanwhile=more
    ),
}
"""What may wait, and what it becomes with an intent: each by name, so that its points stand in the source."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One thing that waits: a receipt, the result of a read, or a reply. `before` it the statement held this."""

    name: str
    before: steps.Mark
    received: Received | None = None
    lost: Callable[[], object] = nothing
    otherwise: Callable[[], object] = nothing
    """Stores it the long way, where an identity in it turns out not to be new."""


@dataclass(kw_only=True)
class Pending:
    """A commit that waits for what may go with it."""

    work: steps.OneStatement
    parts: list[Part]
    done: bool = False

    def takes_reply(self) -> bool:
        """Return whether a reply may go with it: one at most."""
        return all(part.name != "reply" for part in self.parts)

    def write(self, *, intent: bool = False, seen: int | None = None, meanwhile: Meanwhile = nothing) -> int:
        """Commit, with the intent that was written after it; return the inbox number.

        Refuses Changed (Taken, Away), and LostAuthority once everyone who was told of it has heard so. Taken without an
        intent has stored the last part otherwise.
        """
        names = [part.name for part in self.parts]
        try:
            inbox = COMMITS["_".join([*names, "intent"] if intent else names)](self.work, seen, meanwhile)
        except LostAuthority:
            self.done = True
            for part in self.parts:
                part.lost()
            raise
        except steps.Taken:
            if not intent:
                self._otherwise()
            raise
        except keeping.AWAY as error:
            received = next((part.received for part in self.parts if part.received is not None), None)
            if received is None:
                raise
            self.done = True
            connection.close()
            received.keep(failed=True)
            raise Away("the database was away when a receipt was to be stored") from error
        self.done = True
        return inbox

    def _otherwise(self) -> None:
        last = self.parts.pop()
        self.work.back(last.before)
        if self.parts:
            self.write()
        self.done = True
        last.otherwise()


def begin(front: Frontier) -> steps.OneStatement:
    """Return a statement in the making over the frontier's rows: the one that waits, or a new one."""
    if front.pending is not None:
        work = front.pending.work
        work.now, work.actions = front.now(), front.actions
        return work
    return steps.OneStatement(front.claim, front.run, front.actions, front.now())


def wait(front: Frontier, work: steps.OneStatement, part: Part) -> Frontier | None:
    """Return the frontier as it will be once `part` is committed, with what was waiting before.

    None if that had to be done at once, and the frontier must be read again.
    """
    pending = Pending(work=work, parts=[part]) if front.pending is None else front.pending
    if front.pending is not None:
        pending.parts.append(part)
    following = _after(front, work.log.lines[part.before.lines :], pending)
    if following is None:
        pending.write()
    return following


def received(
    front: Frontier | None,
    claim: steps.Claim,
    call: state.CallId,
    intent: steps.Intent,
    receipt: dict[str, Any],
    beat: Heartbeat,
) -> Frontier | None:
    """Return the frontier after this receipt, which may wait; None where it is stored, and must be read again."""
    kept = Received(claim=claim, call=call, intent=intent, receipt=receipt, beat=beat)
    if front is None:
        kept.keep(failed=False)
        return None
    work = begin(front)
    part = Part(name="happened", before=work.mark(), received=kept, lost=kept.testify)
    steps.plain.happened(work, call, attempt=intent.attempt, receipt=receipt)
    return wait(front, work, part)


def settle(front: Frontier) -> Frontier | None:
    """Return the frontier with nothing pending; None if it must be read again."""
    pending = front.pending
    if pending is None or pending.done:
        return front
    inbox = pending.write()
    return replace(front, pending=None) if inbox == front.situation.inbox else None


def looked(
    front: Frontier,
    call: state.CallId,
    *,
    tool: str,
    step: str | None,
    summary: str,
    value: Any,
    last: bool,
) -> Frontier | None:
    """Store the result of a read, the `last` one when something goes with it; return the frontier after it.

    None if it must be read again.
    """
    work = begin(front)
    part = Part(name="read", before=work.mark())
    steps.closing.close_read(work, call, tool=tool, step=step, summary=summary, value=value)
    if last:
        return wait(front, work, part)
    following = _Following(front, work.log.lines)
    return following.found if work.commit("read", meanwhile=following) == front.situation.inbox else None


def start(front: Frontier, wish: steps.Wish) -> tuple[Frontier | None, steps.Intent] | None:
    """Commit a plain intent, with what was pending; return the frontier after it and the right to send.

    None means that this start isn't plain and nothing was written. Refuses Changed and LostAuthority; what was pending
    is then committed alone.
    """
    pending, work = front.pending, begin(front)
    mark = work.mark(work.action(wish.call))
    written = len(work.log.lines)
    found = steps.plain.started(work, wish)
    if found is None:
        return None
    seen, following = front.situation.inbox, _Following(front, work.log.lines[written:])
    try:
        if pending is None:
            work.commit("intent", seen=seen, meanwhile=following)
        else:
            pending.write(intent=True, seen=seen, meanwhile=following)
    except keeping.AWAY as error:
        keeping.never_sent(front.claim, wish.call, attempt=1)
        raise Away("the answer to the commit of an intent was lost") from error
    except Away:
        keeping.never_sent(front.claim, wish.call, attempt=1)
        raise
    except Changed as error:
        work.back(mark)
        if pending is None and isinstance(error, steps.Taken):
            return None
        settle(front)
        raise
    return following.found, found.intent()


class _Following:
    """The frontier after these lines, worked out while their commit is under way."""

    def __init__(self, front: Frontier, lines: Sequence[log.Line]) -> None:
        self._front, self._lines = front, lines
        self.found: Frontier | None = None

    def __call__(self) -> None:
        self.found = _after(self._front, self._lines, None)


def _after(front: Frontier, lines: Sequence[log.Line], pending: Pending | None) -> Frontier | None:
    """Return the frontier moved on by these lines; None where it takes more than they say."""
    start, arguments, tools = front.situation.state, front.arguments, front.situation.tools
    first = lines[0]
    replied = first.kind == lifecycle.EntryKind.REPLY
    if replied:  # every call of the last reply is closed
        start = replace(start, calls={}, results={})
        calls = first.content["calls"]
        arguments = {(first.position, index): call["arguments"] for index, call in enumerate(calls)}
    current = state.fold(lines, start)
    if any(line.content.get("step_state") == lifecycle.Step.FAILED for line in lines):
        return None
    plan = tuple(step for step in current.plan if step.state in frontiers.OPEN_STEPS)
    if front.more and len(plan) < frontiers.WINDOW // 2:
        return None
    current = replace(current, plan=plan, results={})
    actions = {call: row for call, row in front.actions.items() if row.status in lifecycle.ACTION_OPEN}
    situation = replace(
        front.situation,
        state=current,
        now=front.now(),
        attempts=front.run.attempts,
        trouble=front.run.error,
        tools=frontiers.tools(current.open_calls(), known=tools) if replied else tools,
        first_sent=frontiers.first_sent(actions),
        retry_at={},
        left=advances.left(front.run, front.now()) if front.run.advance != {} else {},
    )
    return replace(front, situation=situation, actions=actions, arguments=arguments, pending=pending)
