"""What an administrator has switched off, in words: everything, an agent or a tool."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from django.db.models import Count

from runs import lifecycle, models, rights
from runs.models import scopes
from runs.selectors import deciding, page_models, tools, words

Switches = Mapping[str, Mapping[str, Any]]
NAMED = 3
REASON = 200
OPEN = (lifecycle.Action.PROPOSED, lifecycle.Action.HELD, lifecycle.Action.APPROVED)


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


def named(what: str) -> str:
    """Return what a switch is of: all runs, those of an agent, a tool."""
    return _capital(_named(what, _agents({what: {}})))


def theirs(switches: Switches, user: models.User) -> Switches:
    """Return those that are there for this person."""
    there = scopes.told_of(user) if switches else bool
    return {what: switch for what, switch in switches.items() if there(what)}


def banner(switches: Switches, user: models.User) -> str:
    """Return what is paused for everybody, and of one thing why, for every page's head; or nothing."""
    switches = theirs(switches, user)
    if not switches:
        return ""
    if "all" in switches:
        return f"Everything is paused{_why(switches['all'])}"
    agents = _agents(switches)
    found = [_named(what, agents) for what in sorted(switches)]
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    one = len(found) == 1 and not found[0].startswith("all")
    why = _why(next(iter(switches.values()))) if len(found) == 1 else "."
    return _capital(f"{', '.join(found[:NAMED])}{more} {'is' if one else 'are'} paused{why}")


def board(viewer: deciding.Viewer) -> page_models.SwitchBoard:
    """Return everything that is switched off with the runs that it holds, and for an administrator what could be."""
    stored: Switches = models.Installation.objects.values_list("switches", flat=True).get(pk=1)
    switches = theirs(stored, viewer.user)
    named = {str(switch.get("by", "")) for switch in switches.values()}
    people = {user.username: user.display() for user in models.User.objects.filter(username__in=named)}
    agents = dict(models.Agent.objects.values_list("name", "title"))
    held = _held(switches, viewer.user)
    lines = tuple(
        page_models.SwitchLine(
            what=what,
            words=_capital(_named(what, agents)),
            since=datetime.datetime.fromisoformat(str(switch["at"])),
            by=people.get(str(switch["by"]), str(switch["by"])),
            reason=str(switch.get("reason", "")),
            held=held.get(what, 0),
        )
        for what, switch in sorted(switches.items())
    )
    may = viewer.may(rights.Act.SWITCH)
    free = [("all", "Everything")]
    free += [(f"agent:{name}", f"Runs of {title or name}") for name, title in sorted(agents.items())]
    free += [(f"tool:{tool.name}", f"The tool {tool.title or tool.name}") for tool in tools.everything()]
    choices = tuple(choice for choice in free if choice[0] not in switches) if may else ()
    return page_models.SwitchBoard(lines=lines, may=may, choices=choices)


def _held(switches: Switches, user: models.User) -> dict[str, int]:
    """Return how many runs that haven't ended each switch holds: of the agent, or with an open call of the tool."""
    found: dict[str, int] = {}
    going = models.Run.objects.filter(scopes.seen(user)).exclude(status__in=lifecycle.RUN_ENDED).order_by()
    if any(not what.startswith("tool:") for what in switches):
        counted = going.values("agent_version__agent__name").annotate(n=Count("pk"))
        by_agent = dict(counted.values_list("agent_version__agent__name", "n"))
        found = {f"agent:{name}": n for name, n in by_agent.items()} | {"all": sum(by_agent.values())}
    used = [what.partition(":")[2] for what in switches if what.startswith("tool:")]
    if used:
        rows = models.Action.objects.filter(tool__in=used, status__in=OPEN, run__in=going).order_by()
        by_tool = rows.values("tool").annotate(n=Count("run", distinct=True)).values_list("tool", "n")
        found |= {f"tool:{name}": n for name, n in by_tool}
    return found


def _agents(switches: Switches) -> Mapping[str, str]:
    named = [what.partition(":")[2] for what in switches if what.startswith("agent:")]
    return dict(models.Agent.objects.filter(name__in=named).values_list("name", "title")) if named else {}


def _named(what: str, agents: Mapping[str, str]) -> str:
    kind, _, name = what.partition(":")
    if kind == "agent":
        return f"all runs of “{agents.get(name) or name}”"
    return f"the tool “{tools.title(name)}”" if kind == "tool" else "all runs"


def _why(switch: Mapping[str, Any]) -> str:
    reason = tools.short(str(switch.get("reason", "")), REASON)
    return f": {reason}" if reason else "."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(what: str, switch: Mapping[str, Any], people: Mapping[str, str]) -> str:
    kind, _, name = what.partition(":")
    subjects = {"all": "All runs are", "agent": "All runs of this agent are"}
    subject = subjects.get(kind, f"“{tools.title(name)}” is")
    by = str(switch.get("by", ""))
    since = words.moment(datetime.datetime.fromisoformat(str(switch["at"])))
    reason = f": {switch['reason']}" if switch.get("reason") else "."
    return f"{subject} paused by {people.get(by, by)} since {since}{reason}"
