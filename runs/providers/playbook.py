"""Playbooks: an agent without a model. Its plan's own bound steps are what it does, in order.

The steps come from the agent's definition (the format is in `playbook_format`); after the first reply they
are the run's plan, which people can edit. Each reply is one of: the plan, a loop's rows as one visible step
each, a step to skip, the next tool calls, or the end. The same request always gives the same reply: there is
no clock and no chance in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from runs import cel, lifecycle, state
from runs.providers import contract, playbook_format

MAX_CALLS = 20
"""Most calls in one reply: the rows of a loop that people see side by side."""

MAX_ROWS = 500
"""Most rows that one loop may have."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_COUNTS = ("total", "done", "refused", "failed", "skipped", "kept", "simulated")
_EMPTY_GROUP = {"rows": [], **dict.fromkeys(_COUNTS, 0)}


class Playbook:
    """The provider `playbook`."""

    name = "playbook"
    local = True
    prompted = False

    def references(self, agent: contract.AgentSpec, plan: tuple[state.PlanStep, ...]) -> frozenset[str]:
        """Return the step and group ids that the next open step reads."""
        step = _next(plan)
        if step is None or step.group:
            return frozenset()
        found: set[str] = set()
        for expression in playbook_format.expressions(step.body):
            with _named(step.id):
                found |= cel.references(expression, "steps")
        return frozenset(found)

    def check(self, definition: Mapping[str, Any], tools: tuple[str, ...]) -> None:
        """Refuse (ValueError, one sentence that names the step) a definition that can't be run."""
        playbook_format.check(definition, tools)

    def estimate(self, request: contract.Request) -> contract.Usage:
        """Return nothing: a playbook costs nothing."""
        return contract.Usage()

    def complete(self, request: contract.Request, *, timeout: float) -> contract.Reply:
        """Return the next reply; refuse (ProviderError) a step that can't be evaluated, naming it."""
        if not request.planned:
            return _first_plan(request)
        step = _next(request.plan)
        if step is None:
            return _control(
                contract.FINISH, {"summary": "All steps are done.", "result": None}, "All steps are done."
            )
        if step.state == lifecycle.Step.ACTIVE:
            raise contract.ProviderError(f"Step {step.id!r} is still under way.")
        if step.group:
            return _rows(request, step)
        with _named(step.id):
            return _plain(request, step)


class _named:  # noqa: N801 - a context manager, used like a function
    """Turn whatever is wrong with a step into one sentence that names it."""

    def __init__(self, step: str) -> None:
        self.step = step

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, cel.CelError | playbook_format.BadPlaybook):
            raise contract.ProviderError(f"Step {self.step!r}: {error}") from error


def _next(plan: tuple[state.PlanStep, ...]) -> state.PlanStep | None:
    """Return the first step that is still to be done: one that failed but isn't required is passed over."""
    for step in plan:
        if step.state in lifecycle.STEP_CLOSED or (step.state == lifecycle.Step.FAILED and not step.required):
            continue
        return step
    return None


def _first_plan(request: contract.Request) -> contract.Reply:
    steps = []
    for raw in request.agent.definition.get("steps", ()):
        with _named(str(raw.get("id"))):
            title = cel.render(raw.get("title", raw["id"]), {"input": request.input})
            body = {key: value for key, value in raw.items() if key not in {"id", "title"}}
            steps.append({"id": raw["id"], "title": str(title), "body": body})
    text = f"Planned {_count(len(steps), 'step')}."
    return _control(contract.PLAN, {"steps": steps, "reason": "The playbook's steps."}, text)


def retitled(
    definition: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], *, old: Any, new: Any
) -> dict[str, str]:
    """Return the titles, by id, of steps that name something of the input that is otherwise now.

    A title that a person wrote stays.
    """
    templates = {str(raw["id"]): raw.get("title", raw["id"]) for raw in definition.get("steps", ())}
    found = {}
    for step in steps:
        try:
            before, after = (
                str(cel.render(templates.get(step["id"], ""), {"input": value})) for value in (old, new)
            )
        except cel.CelError:  # the new input lacks what the title names; the step itself will say so
            continue
        if before != after and step["title"] == before[:300]:
            found[step["id"]] = after
    return found


def _plain(request: contract.Request, step: state.PlanStep) -> contract.Reply:
    body = playbook_format.body(step.body)
    variables = _variables(request, step)
    if body.each is not None:
        return _expanded(request, step, body, variables)
    if body.condition is not None and not _holds(body.condition, variables):
        reason = f"Its condition is not met: {body.condition}"
        return _control(
            contract.PLAN, {"skip": step.id, "reason": reason}, f"Skipped “{step.title}”.", step.id
        )
    if body.ask is not None:
        question = {**body.ask, "question": str(cel.render(body.ask["question"], variables))}
        return _control(contract.ASK, question, f"{step.title}.".replace("..", "."), step.id)
    if body.finish is not None:
        ending = cel.render(body.finish, variables)
        ending = {"summary": str(ending["summary"]), "result": ending.get("result")}
        return _control(contract.FINISH, ending, ending["summary"], step.id)
    assert body.tool is not None
    arguments = cel.render(body.arguments, variables)
    call = contract.Call(tool=body.tool, arguments=arguments, step=step.id, label=step.id)
    return contract.Reply(text=f"{step.title}.".replace("..", "."), calls=(call,))


def _rows(request: contract.Request, first: state.PlanStep) -> contract.Reply:
    """Return the calls of the loop's rows at the head of the plan. Their arguments are bound already.

    They are not rendered again: a row's text may hold what looks like a template, and came from outside.
    """
    calls: list[contract.Call] = []
    window = [step.id for step in request.plan]
    for step in request.plan[window.index(first.id) :]:
        if len(calls) == MAX_CALLS or step.group != first.group or step.state not in _OPEN:
            break
        if step.state == lifecycle.Step.FAILED and not step.required:
            continue
        with _named(step.id):
            body = playbook_format.body(step.body)
            if body.tool is None:
                raise playbook_format.BadPlaybook("a row of a loop needs a tool.")
        calls.append(contract.Call(tool=body.tool, arguments=body.arguments, step=step.id, label=step.id))
    text = (
        f"{first.title}."
        if len(calls) == 1
        else f"{_count(len(calls), 'call')} for “{first.group}”, side by side."
    )
    return contract.Reply(text=text, calls=tuple(calls))


_OPEN = frozenset({lifecycle.Step.PENDING, lifecycle.Step.FAILED})


def _expanded(
    request: contract.Request, step: state.PlanStep, body: playbook_format.Body, variables: Mapping[str, Any]
) -> contract.Reply:
    """Return the plan call that puts one step per row in the loop's place."""
    assert body.each is not None
    rows = cel.evaluate(body.each, variables)
    if not isinstance(rows, list):
        raise playbook_format.BadPlaybook(
            f"{body.each!r} must give a list, and gives a {type(rows).__name__}."
        )
    if len(rows) > MAX_ROWS:
        raise playbook_format.BadPlaybook(f"the loop has {len(rows):,} rows; the limit is {MAX_ROWS}.")
    taken = {other.id for other in request.plan}
    steps = []
    for number, row in enumerate(rows, start=1):
        bound = {**variables, body.row: row}
        if body.condition is not None and not _holds(body.condition, bound):
            continue
        key = str(number) if body.key is None else _key(cel.evaluate(body.key, bound))
        row_id = _free(f"{step.id}-{key}", taken)
        title = f"{step.title}: {key}" if body.row_title is None else str(cel.render(body.row_title, bound))
        definition: dict[str, Any] = {
            "group": step.id,
            "tool": body.tool,
            "with": cel.render(body.arguments, bound),
            "required": body.required,
        }
        definition |= {
            key: step.body[key] for key in ("note", "retry", "gate", "compensate") if step.body.get(key)
        }
        steps.append({"id": row_id, "title": title, "body": definition})
    passed = len(rows) - len(steps)
    reason = f"{_count(len(rows), 'row')} of “{step.title}”" + (
        f", {passed} of them not needed." if passed else "."
    )
    text = (
        f"Planned {_count(len(steps), 'step')} for “{step.title}”."
        if steps
        else f"Nothing to do for “{step.title}”."
    )
    return _control(contract.PLAN, {"steps": steps, "replace": step.id, "reason": reason}, text, step.id)


def _variables(request: contract.Request, step: state.PlanStep) -> dict[str, Any]:
    """Return what expressions may read: the input, and the results that this step names."""
    results: dict[str, Any] = dict(request.results)
    for raw in request.agent.definition.get("steps", ()):
        if "each" in raw and results.get(raw["id"]) is None:
            results[raw["id"]] = dict(_EMPTY_GROUP)  # a loop without any row
    results.pop(step.id, None)
    return {"input": request.input, "steps": results}


def _holds(condition: str, variables: Mapping[str, Any]) -> bool:
    value = cel.evaluate(condition, variables)
    if not isinstance(value, bool):
        raise playbook_format.BadPlaybook(f"the condition {condition!r} must give true or false.")
    return value


def _key(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise playbook_format.BadPlaybook("the key of a row must be a text or a whole number.")
    return _UNSAFE.sub("-", str(value).strip())[:40].strip("-") or "row"


def _free(wanted: str, taken: set[str]) -> str:
    """Return `wanted`, with a number behind it where two rows have the same key."""
    found, number = wanted, 1
    while found in taken:
        number += 1
        found = f"{wanted}~{number}"
    taken.add(found)
    return found


def _control(tool: str, arguments: dict[str, Any], text: str, step: str | None = None) -> contract.Reply:
    return contract.Reply(
        text=text, calls=(contract.Call(tool=tool, arguments=arguments, step=step, label=tool),)
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
