"""Storing a paid reply: the entry, its cost, plan changes, proposed actions and verdicts, in one commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from runs import exact, lifecycle, models
from runs.models.fresh import fresh
from runs.state import CallId
from runs.transitions import words
from runs.transitions.steps import absorbing, closing, plans, revisions
from runs.transitions.steps._statement import Claim, Work, fenced


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What policy says of one call, as plain data. `terms` is the whole verdict for the review and the gate."""

    verdict: str
    rule: str
    tier: int
    terms: Mapping[str, Any]
    reason: str = ""
    words: str = ""  # what closes a denied call, where it isn't a rule of the policy that forbids it


@dataclass(frozen=True, kw_only=True)
class Proposed:
    """One call of a reply, checked: arguments settled, identity taken, verdict asked."""

    tool: str
    arguments: Any
    step: str | None
    label: str
    effect: str
    tier: int = 0
    digest: str = exact.EMPTY
    contract: str = ""
    protection: str = ""
    declaration: str = ""
    identity: Any = None
    identity_digest: str = ""
    refusal: str = ""
    verdict: Verdict | None = None
    duplicate_of: tuple[int, int] | None = None
    retry_of: int | None = None
    plan: plans.Change | None = None
    asked: Mapping[str, Any] | None = None  # of an undo, which no reply proposes: by whom, and why


@dataclass(frozen=True, kw_only=True)
class Repair:
    """What a model is told about a reply of its own that can't be used; the `number`th in a row.

    A `final` one is told to people: the run fails with these words.
    """

    cause: str
    text: str
    number: int
    final: bool = False


@dataclass(frozen=True, kw_only=True)
class Record:
    """A reply as it is stored, with `extra` beside its own content."""

    text: str
    calls: tuple[Proposed, ...]
    tokens_in: int
    tokens_out: int
    cost_micro: int | None
    policy_version: int | None
    extra: Mapping[str, Any] = field(default_factory=dict)
    repair: Repair | None = None


def reply(claim: Claim, record: Record) -> None:
    """Store the reply. Needs the fence only: a paid reply is always kept. Refuses LostAuthority."""
    with fenced(claim, "reply") as work:
        write(work, record)


def write(work: Work, record: Record) -> None:
    """Write the reply with its actions: paid for, counted, proposed."""
    run = work.run
    run.steps += 1
    run.tokens_in += record.tokens_in
    run.tokens_out += record.tokens_out
    run.cost_micro += record.cost_micro or 0
    run.cost_known = run.cost_known and record.cost_micro is not None
    usage = {
        "tokens_in": record.tokens_in,
        "tokens_out": record.tokens_out,
        "cost_micro": record.cost_micro,
    }
    # In a later attempt a call may be absorbed whatever policy says, and a dry run carries out nothing that it allows:
    # there the verdict is a line of its own.
    judged = not run.path and run.mode == models.Run.Mode.LIVE
    calls = [described(call, policy=record.policy_version if judged else None) for call in record.calls]
    content = {"text": record.text, "calls": calls, "usage": usage, **record.extra}
    line = work.log.append(lifecycle.EntryKind.REPLY, content)
    run.reply_position = line.position
    for index, call in enumerate(record.calls):
        if call.step:
            work.step(call.step, state=lifecycle.Step.ACTIVE, reply_position=line.position, call_index=index)
    for index, call in enumerate(record.calls):
        propose(work, (line.position, index), call, record.policy_version, judged=judged)
    if record.repair is not None:
        work.log.append(lifecycle.EntryKind.MESSAGE, {"code": "repair", **asdict(record.repair)})
    boundary = _boundary(work, record)
    if boundary is not None:  # at the end of the commit: a cut amid it would leave half of the reply undone
        work.log.checkpoint(boundary)
    work.progressed()


def _boundary(work: Work, record: Record) -> str | None:
    """Return what makes the reply's last line a checkpoint: a new plan, a step that is over, or an effect that is."""
    changes = [call.plan for call in record.calls if call.plan is not None and not call.refusal]
    if any(change.skip is None and not change.done for change in changes):
        return lifecycle.Boundary.PLANNED
    if changes:
        return lifecycle.Boundary.PLAN_STEP
    return lifecycle.Boundary.RESULT if work.closed_effect else None


# What is to be reviewed is prepared and held in a commit of its own, since previews ask the world.
_STATUS: dict[str, str] = {
    "allow": lifecycle.Action.APPROVED,
    "deny": lifecycle.Action.DENIED,
    "review": lifecycle.Action.PROPOSED,
}


def described(call: Proposed, *, policy: int | None = None) -> dict[str, Any]:
    """Return a checked call as the log tells it; with the `policy` version also what it says, where that is final."""
    content = {
        "tool": call.tool,
        "arguments": call.arguments,
        "step": call.step,
        "label": call.label,
        "effect": call.effect,
        "tier": call.tier,
        "digest": call.digest,
    }
    if call.effect not in {"read", "control"}:
        content |= {
            "contract": call.contract,
            "protection": call.protection,
            "declaration": call.declaration,
            "identity": call.identity_digest,
        }
    if call.asked is not None:
        content |= call.asked
    if (
        policy is not None
        and call.verdict is not None
        and call.effect != "read"
        and call.verdict.verdict != "review"
    ):
        content |= {
            "verdict": call.verdict.verdict,
            "rule": call.verdict.rule,
            "policy": policy,
        }
    return content


def propose(
    work: Work,
    call_id: CallId,
    call: Proposed,
    policy_version: int | None,
    *,
    corrected: Proposed | None = None,
    judged: bool = False,
) -> None:
    """Write what follows from a call that the log tells already: its refusal, its plan, or its action and verdict.

    With `judged` the log has told the verdict with the call. What a person `corrected` is a revision of it, and is
    never allowed by policy.
    """
    if call.refusal:
        closing.close(
            work,
            call_id,
            step=call.step,
            status=lifecycle.Action.FAILED,
            text=call.refusal,
            ran=False,
            boundary=None,
        )
        return
    if call.plan is not None:
        plans.apply(work, call_id, call.plan)
        return
    if corrected is not None:
        content = {"call": list(call_id), "number": 2, "digest": corrected.digest,
                   "arguments": corrected.arguments, "by": work.run.created_by.get_username()}  # fmt: skip
        if corrected.identity is not None:
            content["identity"] = corrected.identity_digest
        work.log.append(lifecycle.EntryKind.REVISION, content)
    if call.effect in {"read", "control"}:
        return
    assert call.verdict is not None
    action = _action(work, call_id, call, policy_version, judged=judged)
    if call.asked is not None:
        revisions.asked(action, call.arguments, call.asked)
    if corrected is not None:
        _revise(work, action, call.arguments, corrected)
    if not judged and absorbing.absorbed_before(work, action, proposed=call.arguments):
        return
    if work.run.mode == models.Run.Mode.DRY_RUN and call.verdict.verdict == "allow":
        return  # it is simulated like all that would be asked about
    if corrected is not None or call.verdict.verdict == "review":
        return  # prepared and held in a commit of its own, since previews ask the world
    if not judged:
        work.move(action, _STATUS[call.verdict.verdict])
        work.log.append(
            lifecycle.EntryKind.VERDICT,
            {"call": list(call_id), "verdict": call.verdict.verdict, "rule": call.verdict.rule,
             "status": action.status, "policy": policy_version},
        )  # fmt: skip
    if action.status == lifecycle.Action.DENIED:
        text = call.verdict.words or words.denied(call.verdict.rule)
        closing.close_effect(work, action, status=action.status, text=text, ran=False, boundary=None)
        work.closed_effect = True


def _action(
    work: Work, call_id: CallId, call: Proposed, policy_version: int | None, *, judged: bool
) -> models.Action:
    assert call.verdict is not None
    duplicate = None
    if call.duplicate_of is not None:
        position, index = call.duplicate_of
        ids = [work.run.pk, *(ancestor for ancestor, _ in work.run.path)]
        duplicate = (
            models.Action.objects.filter(
                run_id__in=ids, reply_position=position or call_id[0], call_index=index
            )
            .order_by("-run_id")
            .first()
        )
    denied = judged and call.verdict.verdict == "deny"
    action = fresh(
        models.Action,
        named={} if duplicate is None else {"duplicate_of": duplicate},
        run_id=work.run.pk,
        reply_position=call_id[0],
        call_index=call_id[1],
        step=call.step or "",
        tool=call.tool,
        contract=call.contract,
        effect=call.effect,
        tier=call.tier,
        protection=call.protection,
        status=_STATUS[call.verdict.verdict] if judged else lifecycle.Action.PROPOSED,
        closed_at=work.now if denied else None,
        digest=call.digest,
        identity=call.identity,
        identity_digest=call.identity_digest,
        declaration=call.declaration,
        verdict=call.verdict.verdict,
        rule=call.verdict.rule,
        terms=dict(call.verdict.terms) if call.verdict.verdict == "review" else {},
        policy_version_id=policy_version,
        retry_of_id=call.retry_of,
        undo_of_id=call.asked["undo_of"] if call.asked is not None else None,
    )
    work.add(action)
    return action


def _revise(work: Work, action: models.Action, first: Any, corrected: Proposed) -> None:
    revisions.append(
        action, first, arguments=corrected.arguments, digest=corrected.digest, author=work.run.created_by
    )
    proposed = action.identity_digest
    action.identity, action.identity_digest = corrected.identity, corrected.identity_digest
    action.proposed_identity = proposed if proposed != action.identity_digest else None
    action.verdict = "review"
    action.save(
        update_fields=["revision", "digest", "identity", "identity_digest", "proposed_identity", "verdict"]
    )
