"""The form of an agent: its text, why it is changed, and the version that it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runs import agent_files
from runs.forms import decisions
from runs.providers import declared

SAVE, TRY, LIVE = "save", "try", "live"
"""Put it in use, keep it to be tried out, or only look what is different."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """The form as it is drawn or was sent. `agent` is what the text describes, None where it describes none."""

    text: str
    base: int = 0
    reason: str = ""
    act: str = ""
    agent: declared.Agent | None = None
    line: int = 0
    errors: Mapping[str, str] = field(default_factory=dict)


def begin(agent: declared.Agent | None, *, base: int) -> Given:
    """Return the form of an agent's newest version, or of a new agent."""
    text = agent_files.BEGIN if agent is None else agent_files.write(agent)
    return Given(text=text, base=base, agent=agent or agent_files.read(text))


def read(post: Mapping[str, str], *, name: str = "") -> Given:
    """Return what was sent; an agent that is there keeps its `name`."""
    text = post.get("text", "").replace("\r\n", "\n")
    act = post.get("act", "")
    given = {
        "text": text,
        "base": decisions.number(post.get("base", "")),
        "reason": post.get("reason", ""),
        "act": act if act in {SAVE, TRY} else LIVE,
    }
    try:
        agent = agent_files.read(text)
    except agent_files.BadAgent as error:
        return Given(**given, line=error.line, errors={"text": str(error)})  # type: ignore[arg-type]
    if name and agent.name != name:
        sentence = f"This is a version of {name!r}, which keeps its name; make a new agent for another one."
        return Given(**given, agent=None, errors={"text": sentence})  # type: ignore[arg-type]
    return Given(**given, agent=agent)  # type: ignore[arg-type]
