"""What becomes of a model's answer beside its calls: a summary is stored, and a reply of no use is told so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runs import jsonschemas
from runs.engine import frontier as frontiers
from runs.engine import paying
from runs.providers import contract, controls
from runs.providers import registry as providers
from runs.providers.prompts import Prompt
from runs.transitions import steps
from runs.transitions.refusals import LostAuthority

WORDS = {
    "empty": "You answered nothing. Call a tool, or `finish`.",
    "no_call": "Text alone reaches nobody. Call a tool, or `finish` if nothing is left to do.",
    "refused_calls": "None of these calls could be made. Read why, and do it otherwise.",
}
PLAN_FIRST = "make a plan with 'plan' first; before it you may only look and ask."


def prompted(front: frontiers.Frontier) -> bool:
    """Return whether the agent is driven by a model, which reads the log."""
    return providers.get(front.agent.provider).prompted


def store_summary(front: frontiers.Frontier, prompt: Prompt, reply: contract.Reply) -> None:
    """Store a summary of the log. Refuses LostAuthority, and contract.ProviderError where the model gave none."""
    if not reply.text.strip() or (reply.flaw is not None and reply.flaw.final):
        paying.book_unusable(front.claim, reply.usage)
        final = reply.flaw is not None and reply.flaw.final
        raise contract.ProviderError("The model gave no summary of the run so far.", retryable=not final)
    assert prompt.upto is not None
    try:
        steps.summarise(
            front.claim,
            upto=prompt.upto,
            text=reply.text,
            pinned=prompt.pinned,
            usage=paying.as_json(reply.usage),
            details={"gen_ai": dict(reply.details)},
        )
    except LostAuthority:
        paying.tell_late(front.claim, reply.usage)
        raise


def unusable(reply: contract.Reply, most: int) -> str:
    """Return why a reply of no model can't be stored, though it has to be paid for, or an empty text."""
    if not reply.calls:
        return "The provider answered without proposing anything or finishing."
    if len(reply.calls) > most:
        return f"The provider proposed {len(reply.calls)} calls at once; {most} are allowed."
    return ""


def fewer(reply: contract.Reply, most: int) -> contract.Reply:
    """Return the reply, or one of its first calls alone where it makes more than it may: none is carried out."""
    if len(reply.calls) <= most:
        return reply
    words = f"you made {len(reply.calls)} calls at once; {most} are allowed, so none was carried out."
    calls = tuple(replace(call, malformed=call.malformed or words) for call in reply.calls[:most])
    return replace(reply, calls=calls)


def repair(
    front: frontiers.Frontier, reply: contract.Reply, checked: Sequence[steps.Proposed]
) -> steps.Repair | None:
    """Return what the model is told about a reply that leads to nothing; None where something goes on."""
    if not prompted(front):
        return None
    if reply.flaw is not None:
        cause, text, final = reply.flaw.cause, reply.flaw.words, reply.flaw.final
    elif all(call.refusal for call in checked):
        cause = "refused_calls" if checked else "no_call" if reply.text.strip() else "empty"
        text, final = WORDS[cause], False
    else:
        return None
    return steps.Repair(cause=cause, text=text, number=front.repairs + 1, final=final)


def kept(reply: contract.Reply) -> dict[str, object]:
    """Return what is kept of a reply beside its text and calls."""
    found: dict[str, object] = {"gen_ai": dict(reply.details)} if reply.details else {}
    return {**found, "flaw": reply.flaw.cause} if reply.flaw is not None else found


def unplanned(front: frontiers.Frontier, earlier: Sequence[steps.Proposed]) -> bool:
    """Return whether a model wants to act before it has made a plan."""
    made = front.situation.state.plan_version > 0 or any(call.plan is not None for call in earlier)
    return prompted(front) and not made


def has_tool(front: frontiers.Frontier, name: str) -> bool:
    """Return whether the agent may use this tool: one of its own, or what every model may."""
    return name in front.agent.tools or (name == controls.READ_MORE and prompted(front))


def unfit(front: frontiers.Frontier, result: object) -> str:
    """Return what of a run's result doesn't fit the agent's schema, in words, or nothing."""
    schema = front.agent.definition.get("output_schema") if prompted(front) else None
    if schema is None:
        return ""
    found = jsonschemas.problems(schema, result)
    told = [f"{'.'.join(map(str, one.path)) or 'result'}: {one.sentence}" for one in found[:5]]
    return " ".join(told)
