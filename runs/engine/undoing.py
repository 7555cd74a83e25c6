"""Checking an undo that a person asked for, as the calls of a reply are checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import exact, models
from runs.engine import frontier, history, verdicts
from runs.tools import registry, undo
from runs.tools.contract import BadArguments
from runs.transitions import steps
from runs.transitions.considered import Considered
from runs.transitions.steps import occurrences


def check(run: models.Run, asked: Mapping[str, Any]) -> steps.Checked:
    """Return the undo of the occurrence that `asked` names, with its verdict, or with the sentence that refuses it.

    Whoever asks for it is no reason to allow it: policy is asked as for any effect.
    """
    row = models.Occurrence.objects.select_related("owner").get(pk=asked["undo_of"])
    arguments = undo.arguments(row.pk, row.owner.arguments(), occurrences.receipt(row))
    policy = verdicts.in_force()
    tool = registry.undo_of(row.tool)
    try:
        if tool is None:
            raise registry.UnknownTool(f"Nothing takes back what {row.tool!r} did.")
        text = tool.settled(arguments)
    except (registry.UnknownTool, BadArguments) as error:
        call = steps.Proposed(
            tool=row.tool + undo.SUFFIX, arguments=arguments, step=None, label="", effect="control",
            refusal=str(error), asked=asked,
        )  # fmt: skip
        return steps.Checked(call=call, policy_version=policy.version)
    identity = exact.stored(exact.canonical(tool.identity_of(tool.parse(exact.stored(text)))))
    digest = exact.digest_of(identity)
    past = history.of(run, tool, identity=digest)
    agent = frontier.spec(run.agent_version_id)
    # It stands in no plan, so where plans are approved a person reads it.
    about = Considered(run, tool=tool.name, arguments=lambda: exact.stored(text), identity=digest)
    verdict = verdicts.ask(
        policy, about, agent=agent.name, tool=type(tool), never_allow=past.asks or agent.approve_plan
    )
    call = steps.Proposed(
        tool=tool.name,
        arguments=exact.stored(text),
        step=None,
        label="",
        effect=str(tool.effect),
        tier=tool.risk(),
        digest=exact.digest(text),
        contract=tool.contract(),
        protection=str(tool.protection),
        declaration=tool.declaration(),
        identity=identity,
        identity_digest=digest,
        verdict=verdict,
        retry_of=past.failed.pk if past.failed is not None else None,
        asked=asked,
    )
    return steps.Checked(call=call, policy_version=policy.version)


def take_back(claim: steps.Claim, run: models.Run, occurrence: int, *, why: str, seen: int) -> None:
    """Propose an undo that no person asked for but the plan, since it has failed.

    Refuses LostAuthority, and Changed where something new is in the inbox.
    """
    steps.compensate(claim, check(run, steps.asked(occurrence, by="", reason=why)), seen=seen)


def why(action: models.Action) -> str:
    """Return who asked for this undo and why; nothing for any other action."""
    if action.undo_of_id is None:
        return ""
    first = models.Revision.objects.select_related("author").filter(action=action, number=1).first()
    if first is None:
        return ""
    who = first.author.display() if first.author is not None else "The plan"
    return f"{who} asked for it: {first.reason}"
