"""Where a change is, in words: the step, the call or the effect instead of the number that stands for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runs import patches

SEPARATOR = " \N{RIGHTWARDS ARROW} "


def place(path: patches.Path, labels: Mapping[str, str], steps: Sequence[str]) -> str:
    """Return the place inside its section; `labels` are of calls and effects, `steps` the titles of the plan's."""
    parts: list[str] = []
    for index, part in enumerate(path):
        if index == 1 and path[0] == "steps" and isinstance(part, int):
            parts = [steps[part] if part < len(steps) else f"step {part + 1}"]
        elif isinstance(part, int):
            parts.append(f"{part + 1}")
        elif index == 0 and part in labels:
            parts.append(labels[part])
        else:
            parts.append(part.replace("_", " ") if part.isidentifier() else part)
    return SEPARATOR.join(parts)
