"""The form for what may be used in a day: one text for each measure, and one line for each tool."""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from dataclasses import dataclass, field

from runs import measures
from runs.forms import amounts

TOOLS = "tools"
LONGEST = 20_000


@dataclass(frozen=True, kw_only=True)
class Given:
    """What was typed, what it means, and one sentence for each text that means nothing."""

    texts: Mapping[str, str]
    reason: str
    base: int
    limits: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)


def begin(limits: Mapping[str, int], *, base: int) -> Given:
    """Return the form as it is opened: with the limits in force."""
    texts = {name: typed(name, limits[name]) for name in measures.NOUNS if name in limits}
    tools = [f"{measures.tool(name)} = {limit}" for name, limit in limits.items() if measures.tool(name)]
    return Given(texts={**texts, TOOLS: "\n".join(tools)}, reason="", base=base)


def read(post: Mapping[str, str]) -> Given:
    """Return the form as it was sent; an empty text is no limit."""
    texts = {name: post.get(name, "")[:LONGEST] for name in (*measures.NOUNS, TOOLS)}
    base, errors, found = post.get("base", ""), {}, {}
    for name in measures.NOUNS:
        text = texts[name].strip()
        limit = amount(text, name)
        if limit is None:
            errors[name] = f"The limit of {measures.noun(name)} is {wanted(name)}"
        elif text:
            found[name] = limit
    for line in filter(str.strip, texts[TOOLS].splitlines()):
        tool, equals, text = (part.strip() for part in line.partition("="))
        limit = amount(text, "") if text else None
        if not (tool and equals) or limit is None:
            errors[TOOLS] = (
                f"Write one tool on each line, such as email.send = 20; this is none: {line.strip()[:80]}"
            )
        elif measures.of_tool(tool) in found:
            errors[TOOLS] = f"{tool} stands there twice."
        else:
            found[measures.of_tool(tool)] = limit
    number = int(base) if base.isascii() and base.isdigit() and len(base) < 10 else 0
    return Given(texts=texts, reason=post.get("reason", ""), base=number, limits=found, errors=errors)


def typed(measure: str, limit: int) -> str:
    """Return a limit as it is typed: dollars for money."""
    if measure != measures.Measure.COST:
        return str(limit)
    return f"{decimal.Decimal(limit).scaleb(-6).normalize():f}"


def amount(text: str, measure: str) -> int | None:
    """Return the limit that a text names; nothing typed and 0 are 0, and None is what isn't one."""
    if not text or text in {"0", "$0"}:
        return 0
    return amounts.read(text, measure=measure)


def wanted(measure: str) -> str:
    """Return what a limit of this measure has to look like."""
    money = measure == measures.Measure.COST
    return "an amount of dollars, such as 25.00." if money else "a whole number, without commas."
