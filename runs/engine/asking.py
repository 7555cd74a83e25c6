"""Questions that an agent asks: what it asked for, checked, and who answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from runs import exact, jsonschemas, models, rights, state
from runs.engine import frontier as frontiers
from runs.engine import simulating, verdicts
from runs.policies import rules
from runs.providers import contract
from runs.transitions import steps
from runs.transitions.considered import Considered

LONGEST = 4_000
WORDS: Mapping[str, Any] = {"type": "string", "minLength": 1, "maxLength": 4_000}
"""The schema of an answer where the agent gives none: a text."""


def proposed(call: contract.Call, arguments: Any) -> steps.Proposed:
    """Return the call with its arguments settled, or with the sentence that refuses it."""
    made = steps.Proposed(
        tool=call.tool, arguments=arguments, step=call.step, label=call.label, effect="control"
    )
    try:
        text, schema = _question(arguments)
        whom = {"to": _group(arguments["to"])} if "to" in arguments else {}
    except (ValueError, jsonschemas.BadSchema) as error:
        return dataclasses.replace(made, refusal=f"ask_human: {error}")
    return dataclasses.replace(made, arguments={"question": text, "schema": schema, **whom})


def ask(front: frontiers.Frontier, call: state.CallState) -> None:
    """Put the question before people; a dry run supposes an answer. Refuses LostAuthority and Changed."""
    arguments = front.arguments[call.id]
    about = Considered(front.run, tool=contract.ASK, arguments=lambda: arguments)
    verdict = _put_to(arguments.get("to"), verdicts.asking(front.policy, about, agent=front.agent.name))
    if front.run.mode == models.Run.Mode.DRY_RUN and verdict.verdict != "deny":
        simulating.suppose(front, call, verdict)
        return
    steps.ask_human(
        front.claim,
        call.id,
        step=call.step,
        question=arguments["question"],
        schema=arguments["schema"],
        verdict=verdict,
        seen=front.situation.inbox,
    )


def _question(arguments: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the question and the schema of its answer; refuse (ValueError) what isn't one."""
    if not isinstance(arguments, Mapping):
        raise ValueError("the arguments must be an object.")
    if extra := sorted(set(arguments) - {"question", "schema", "to"}):
        raise ValueError(f"there is no argument {extra[0]!r}; there are 'question', 'schema' and 'to'.")
    text = arguments.get("question")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("'question' must be a text.")
    if len(text) > LONGEST:
        raise ValueError(f"the question has {len(text):,} characters; the limit is {LONGEST:,}.")
    schema = arguments.get("schema", WORDS)
    jsonschemas.check(schema)
    found: Mapping[str, Any] = exact.stored(exact.canonical(schema))
    return text, found


def _group(name: Any) -> str:
    """Return the group of people that work is handed to; refuse (ValueError) one that has nobody who may decide."""
    rows = models.User.objects.filter(is_active=True, groups__name__isnull=False).order_by("pk")
    held: dict[int, set[str]] = {}
    for pk, group in rows.values_list("pk", "groups__name"):
        held.setdefault(pk, set()).add(group)
    able = {group for groups in held.values() for group in groups if rights.may_decide(groups, [group])}
    if name not in able:
        known = ", ".join(sorted(able)) or "none yet"
        raise ValueError(f"nobody in a group named {name!r} may answer; groups that may: {known}.")
    return str(name)


def _put_to(group: str | None, verdict: steps.Verdict) -> steps.Verdict:
    """Return the verdict with the group that the agent asks for, where policy leaves it to the reviewers in general."""
    if group is None or tuple(verdict.terms.get("groups", rules.REVIEWERS)) != rules.REVIEWERS:
        return verdict
    return dataclasses.replace(verdict, terms={**verdict.terms, "groups": [group]})
