"""What a rule is about: what it says of the call's tool, agent and run, and of the one call."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from runs import cel

PROTECTIONS = ("idempotent", "lookup", "unprotected")
MODES = ("live", "dry_run")
MARKS = ("duplicate", "deviation", "first_time")
"""What may be asked of one call: proposed before here, beside the approved plan, never reached that target before."""
NAMES = frozenset({"args", "run", "budget"})
"""What a condition may speak of."""

WORK = 200_000
"""Most items that a condition may visit: a tenth of a second, since it may be asked while a run is locked."""


@dataclass(frozen=True, kw_only=True)
class Match:
    """What a rule is about; a missing part matches everything."""

    agent: str | None = None
    tool: str | None = None
    effect: tuple[str, ...] | None = None
    tier: tuple[int, ...] | None = None
    protection: tuple[str, ...] | None = None
    mode: tuple[str, ...] | None = None
    labels: tuple[tuple[str, str], ...] | None = None
    open_world: bool | None = None
    # What follows is about the one call, and found out only when everything above fits.
    duplicate: bool | None = None
    deviation: bool | None = None
    first_time: bool | None = None
    seen_elsewhere: int | None = None
    """The same was done in another piece of work, within so many days (CORRECTNESS 1.16)."""
    when: str | None = None
    """A condition in CEL over `args`, `run` and `budget`."""

    @property
    def of_the_call(self) -> bool:
        """Return whether it depends on more than tool, agent and run."""
        marks = (self.duplicate, self.deviation, self.first_time, self.seen_elsewhere, self.when)
        return any(mark is not None for mark in marks)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of every call of a tool in a run. What is about one call comes as a mapping, where it is asked for:
    the MARKS as true or false, `seen_elsewhere` as days or None, and the NAMES as JSON.
    """

    agent: str
    tool: str
    effect: str
    tier: int
    protection: str = ""
    mode: str = "live"
    labels: tuple[tuple[str, str], ...] = ()
    open_world: bool = False


class Unknown(ValueError):
    """What a rule asks about one call can't be found out; the message is the rest of a sentence."""


NOTHING: Mapping[str, Any] = MappingProxyType({})


def matches(match: Match, facts: Facts) -> bool:
    """Return whether the rule is about such calls at all."""
    return (
        (match.agent is None or fnmatch.fnmatchcase(facts.agent, match.agent))
        and (match.tool is None or fnmatch.fnmatchcase(facts.tool, match.tool))
        and (match.effect is None or facts.effect in match.effect)
        and (match.tier is None or facts.tier in match.tier)
        and (match.protection is None or facts.protection in match.protection)
        and (match.mode is None or facts.mode in match.mode)
        and (match.open_world is None or facts.open_world is match.open_world)
        and (match.labels is None or _labelled(match.labels, dict(facts.labels)))
    )


def _labelled(wanted: tuple[tuple[str, str], ...], labels: Mapping[str, str]) -> bool:
    return all(name in labels and fnmatch.fnmatchcase(labels[name], value) for name, value in wanted)


def holds(match: Match, call: Mapping[str, Any]) -> bool:
    """Return whether what the rule says about the one call is true. Refuses Unknown and cel.CelError."""
    for mark in MARKS:
        wanted = getattr(match, mark)
        if wanted is not None and _mark(call, mark) is not wanted:
            return False
    if match.seen_elsewhere is not None:
        days = _found(call, "seen_elsewhere")
        if days is None or days > match.seen_elsewhere:
            return False
    if match.when is None:
        return True
    asked = {name: _found(call, name) for name in cel.check(match.when) & NAMES}
    said = cel.evaluate(match.when, asked, most=WORK)
    if not isinstance(said, bool):
        raise Unknown("its condition is neither true nor false.")
    return said


def _mark(call: Mapping[str, Any], mark: str) -> bool:
    value = _found(call, mark)
    if not isinstance(value, bool):
        raise Unknown(f"nobody knows {mark}.")
    return value


def _found(call: Mapping[str, Any], name: str) -> Any:
    try:
        return call[name]
    except KeyError as error:
        raise Unknown(f"nobody knows {name}.") from error
