"""A rule in plain words: what it is about, what it says, and on which terms. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runs.policies import rules

_EFFECTS = {"read": "only reads", "reversible": "can be undone", "irreversible": "can't be undone"}
_PROTECTIONS = {
    "idempotent": "a second send under its key does nothing",
    "lookup": "the world can be asked what became of it",
    "unprotected": "only a person can say what became of it",
}
_MODES = {"live": "the run is live", "dry_run": "the run is a dry run"}
_MARKS = {
    "duplicate": ("it looks like something that was proposed before", "it is proposed for the first time"),
    "deviation": ("it leaves the approved plan", "it keeps to the approved plan"),
    "first_time": ("nothing has reached this target before", "its target was reached before"),
}
_ENDS = {
    "deny": "denied when nobody answers in time",
    rules.ESCALATE: "put before administrators when nobody answers in time, then denied",
    rules.STAY: "open until somebody answers",
}


@dataclass(frozen=True, kw_only=True)
class Said:
    """A rule as people read it."""

    name: str
    about: tuple[str, ...]
    """What must be true; empty: it is about everything."""
    verdict: str
    says: str
    terms: tuple[str, ...]


def said(rule: rules.Rule) -> Said:
    """Return the rule in words."""
    asks = rule.verdict == rules.REVIEW
    return Said(
        name=rule.name,
        about=tuple(_about(rule.match)),
        verdict=rule.verdict,
        says=_asked(rule) if asks else {"allow": "goes through", "deny": "is refused"}[rule.verdict],
        terms=tuple(_terms(rule)) if asks else (),
    )


def _asked(rule: rules.Rule) -> str:
    who = either(rule.groups)
    if rule.quorum == 1:
        return f"{who} decides"
    return f"{people(rule.quorum)} decide, each of {who}"


def people(count: int) -> str:
    """Return so many people in words."""
    return "one person" if count == 1 else f"{_COUNTS.get(count, str(count))} people"


def approvals(count: int) -> str:
    """Return so many approvals in words."""
    return "one approval" if count == 1 else f"{_COUNTS.get(count, str(count))} approvals"


_COUNTS = {2: "two", 3: "three"}


def _about(match: rules.Match) -> Iterable[str]:
    if match.tool is not None:
        yield f"the tool is {_pattern(match.tool)}"
    if match.agent is not None:
        yield f"the agent is {_pattern(match.agent)}"
    if match.tier is not None:
        yield f"it is tier {either([str(tier) for tier in match.tier])}"
    if match.effect is not None:
        yield f"it {either([_EFFECTS[one] for one in match.effect])}"
    if match.protection is not None:
        yield either([_PROTECTIONS[one] for one in match.protection])
    if match.open_world is not None:
        yield "its tool reaches the open world" if match.open_world else "its tool reaches known places only"
    if match.mode is not None:
        yield either([_MODES[one] for one in match.mode])
    for name, value in match.labels or ():
        yield f"the run's label {name} is {_pattern(value)}"
    for mark, (true, false) in _MARKS.items():
        wanted = getattr(match, mark)
        if wanted is not None:
            yield true if wanted else false
    if match.seen_elsewhere is not None:
        yield f"the same was done in other work within {_days(match.seen_elsewhere)}"
    if match.when is not None:
        yield f"{match.when}"


def _terms(rule: rules.Rule) -> Iterable[str]:
    if rule.tier is not None:
        yield f"treated as tier {rule.tier} at least"
    if rule.separation:
        yield f"{approvals(rule.quorum)}, by somebody who neither started nor changed it"
    if rule.reason_required:
        yield "with a reason"
    if rule.due_seconds is not None:
        yield f"due in {span(rule.due_seconds)}"
    for rung in rule.escalate:
        yield f"after {span(rung.after_seconds)} also put before {either(rung.groups)}"
    if rule.expires_seconds is not None:
        yield f"over after {span(rule.expires_seconds)}"
    yield _ENDS[rule.on_expiry]
    if rule.undo_seconds is not None:
        yield f"can be taken back for {span(rule.undo_seconds)} after the approval"


def at_the_end(rule: rules.Rule) -> str:
    """Return what becomes of a question that nobody answers."""
    return _ENDS[rule.on_expiry]


def either(words: Sequence[str]) -> str:
    """Return "a", "a or b", "a, b or c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def span(seconds: int) -> str:
    """Return a length of time in its largest whole unit: "4 hours", "90 minutes"."""
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds and seconds % size == 0:
            return f"{seconds // size} {word}{'' if seconds == size else 's'}"
    return f"{seconds} second{'' if seconds == 1 else 's'}"


def _days(count: int) -> str:
    return f"{count} day{'' if count == 1 else 's'}"


def _pattern(text: str) -> str:
    """Return a pattern in words: a name, or names that begin, end or look so."""
    bare = text.strip("*")
    if not any(mark in bare for mark in "*?["):
        if text == "*":
            return "any"
        if text.endswith("*") and not text.startswith("*"):
            return f"one that begins with {bare}"
        if text.startswith("*") and not text.endswith("*"):
            return f"one that ends with {bare}"
        if text == bare:
            return text
    return f"like {text}"
