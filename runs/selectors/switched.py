"""What an administrator has switched off, in words: everything, an agent or a tool."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from runs import models, rights
from runs.selectors import deciding, page_models, tools, words

Switches = Mapping[str, Mapping[str, Any]]


def sentences(switches: Switches, *, agent: models.Agent, used: list[str]) -> tuple[str, ...]:
    """Return one sentence for each switch that this agent's runs stand under; `used` are its tools."""
    found = [
        what
        for what in ("all", f"agent:{agent.name}", *(f"tool:{name}" for name in used))
        if what in switches
    ]
    if not found:
        return ()
    named = {str(switches[what].get("by", "")) for what in found}
    people = {user.username: user.display() for user in models.User.objects.filter(username__in=named)}
    return tuple(_sentence(what, switches[what], people) for what in found)


def held_up(switches: Switches, agent: str) -> bool:
    """Return whether no run of this agent is taken up now."""
    return "all" in switches or f"agent:{agent}" in switches


def board(switches: Switches, viewer: deciding.Viewer) -> page_models.SwitchBoard:
    """Return everything that is switched off, and for an administrator what could be."""
    people: dict[str, str] = {}
    if switches:
        named = {str(switch.get("by", "")) for switch in switches.values()}
        people = {user.username: user.display() for user in models.User.objects.filter(username__in=named)}
    agents = dict(models.Agent.objects.values_list("name", "title"))
    lines = tuple(
        page_models.SwitchLine(what=what, sentence=_sentence(what, switch, people, agents))
        for what, switch in sorted(switches.items())
    )
    may = viewer.may(rights.Act.SWITCH)
    free = [("all", "Everything")]
    free += [(f"agent:{name}", f"Runs of {title or name}") for name, title in sorted(agents.items())]
    free += [(f"tool:{tool.name}", f"The tool {tool.title or tool.name}") for tool in tools.everything()]
    choices = tuple(choice for choice in free if choice[0] not in switches) if may else ()
    return page_models.SwitchBoard(lines=lines, may=may, choices=choices)


def _sentence(
    what: str, switch: Mapping[str, Any], people: Mapping[str, str], agents: Mapping[str, str] | None = None
) -> str:
    kind, _, name = what.partition(":")
    owner = "this agent" if agents is None else f"“{agents.get(name) or name}”"
    subjects = {"all": "All runs are", "agent": f"All runs of {owner} are"}
    subject = subjects.get(kind, f"“{tools.title(name)}” is")
    by = str(switch.get("by", ""))
    since = words.moment(datetime.datetime.fromisoformat(str(switch["at"])))
    reason = f": {switch['reason']}" if switch.get("reason") else "."
    return f"{subject} paused by {people.get(by, by)} since {since}{reason}"
