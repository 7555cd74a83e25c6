"""Whether the steps of a playbook's plan still find what they read: pure, one sentence for each that doesn't.

A step reads results of earlier steps by their ids, and of a loop by the loop's id, also when its rows stand in its
place. What reads a step that comes later, or is gone, can't be carried out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs import cel
from runs.providers import playbook_format

Step = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """What is wrong with the place of a step, in one sentence; `fatal` says that it can't be carried out so."""

    step: str
    sentence: str
    fatal: bool = True


def doubts(
    steps: Sequence[Step], *, before: Sequence[Step] = (), closed: frozenset[str], loops: frozenset[str]
) -> tuple[Doubt, ...]:
    """Return the doubts about the open steps, in order.

    `before` is the version that is changed, for the names of what is gone; `loops` are the loops of the definition: a
    loop without any row reads as an empty one.
    """
    titles = {step["id"]: str(step["title"]) for step in (*before, *steps)}
    groups = {str(step["body"].get("group") or "") for step in before} - {""}
    last: dict[str, int] = {}
    for at, step in enumerate(steps):
        last[step["id"]] = at
        if group := step["body"].get("group"):
            last[str(group)] = at
    found: list[Doubt] = []
    end = next(
        (at for at, step in enumerate(steps) if "finish" in step["body"] and step["id"] not in closed), None
    )
    for at, step in enumerate(steps):
        if step["id"] in closed:
            continue
        if end is not None and at > end:
            sentence = (
                f"The run ends with “{titles[steps[end]['id']]}”, so this is never done; move it before that."
            )
            found.append(Doubt(step=step["id"], sentence=sentence))
        for name in _read(step):
            known = titles.get(name, name)
            if name in last and last[name] > at:
                rows = "some of which come" if name not in titles else "which comes"
                sentence = f"This reads the result of “{known}”, {rows} later."
                found.append(Doubt(step=step["id"], sentence=sentence))
            elif name not in last and name not in loops:
                found.append(
                    Doubt(
                        step=step["id"],
                        sentence=f"This reads the result of “{known}”, which is not in the plan.",
                    )
                )
            elif name not in last and (name in groups or name in titles):
                sentence = f"This reads the results of “{known}”, which is taken out; it counts as a loop without rows."
                found.append(Doubt(step=step["id"], sentence=sentence, fatal=False))
    return tuple(found)


def loops(definition: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the loops of an agent's definition."""
    return frozenset(str(step["id"]) for step in definition.get("steps", ()) if "each" in step)


def _read(step: Step) -> Iterator[str]:
    """Return the ids that the step reads, each once; what can't be compiled is said elsewhere."""
    body = step["body"]
    if "group" in body:  # a row of a loop: nothing in it is filled in any more
        return
    seen: set[str] = {step["id"]}
    try:
        for expression in playbook_format.expressions(body):
            for name in sorted(cel.references(expression, "steps") - seen):
                seen.add(name)
                yield name
    except cel.CelError:
        return
