"""The form of one policy rule: what is typed and ticked, and the rule that comes of it. `parsing` has the last word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runs.forms.schemas import reading
from runs.policies import rules, words

PREFIX = "rule-"
MARKS = ("open_world", "duplicate", "deviation", "first_time")
TEXTS = ("tool", "agent", "when")
TICKS: Mapping[str, tuple[str, ...]] = {
    "tier": tuple(str(tier) for tier in rules.TIERS),
    "effect": rules.EFFECTS,
    "protection": rules.PROTECTIONS,
    "mode": rules.MODES,
}
SPANS = ("due", "expires", "undo")
FLAGS = ("separation", "reason_required")
RUNGS = 4
"""Rows for who is asked as well: those that there are, and one more."""

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_SPAN = re.compile(r"(\d{1,9}) ?(s|seconds?|m|min|minutes?|h|hours?|d|days?)?\Z", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class RuleForm:
    """One rule as it is drawn or was sent: texts by name, what is ticked, and one sentence for what can't stay so."""

    texts: Mapping[str, str]
    ticked: Mapping[str, frozenset[str]]
    rungs: tuple[tuple[str, str], ...] = ()
    errors: dict[str, str] = field(default_factory=dict)


def build(rule: Mapping[str, Any]) -> RuleForm:
    """Return the form of a rule as it is written."""
    match = rule.get("match", {})
    texts = {name: str(match.get(name, "")) for name in TEXTS}
    texts |= {mark: _yes(match.get(mark)) for mark in MARKS}
    texts |= {
        "name": str(rule.get("name", "")),
        "verdict": str(rule.get("verdict", rules.REVIEW)),
        "seen_elsewhere": str(match.get("seen_elsewhere", "")),
        "labels": "\n".join(f"{name}={value}" for name, value in sorted(match.get("labels", {}).items())),
        "raise": str(rule.get("tier", "")),
        "quorum": str(rule.get("quorum", "")),
        "on_expiry": str(rule.get("on_expiry", "deny")),
    }
    texts |= {name: _span(rule.get(f"{name}_seconds")) for name in SPANS}
    ticked = {name: frozenset(str(one) for one in match.get(name, ())) for name in TICKS}
    ticked |= {
        "groups": frozenset(rule.get("groups", rules.REVIEWERS)),
        "flags": frozenset(flag for flag in FLAGS if rule.get(flag)),
    }
    rungs = [(_span(rung["after_seconds"]), ", ".join(rung["groups"])) for rung in rule.get("escalate", ())]
    return RuleForm(texts=texts, ticked=ticked, rungs=(*rungs, ("", "")))


def read(sent: Mapping[str, Sequence[str]]) -> tuple[Mapping[str, Any] | None, RuleForm]:
    """Return the rule that was sent, or None with one sentence for each field that can't stay so."""
    texts = {name: (reading.last(sent, PREFIX + name) or "").strip() for name in _NAMES}
    ticked = {name: frozenset(sent.get(PREFIX + name, ())) for name in (*TICKS, "groups", "flags")}
    rungs = [
        (
            (reading.last(sent, f"{PREFIX}after-{row}") or "").strip(),
            (reading.last(sent, f"{PREFIX}also-{row}") or "").strip(),
        )
        for row in range(RUNGS + 1)
    ]
    kept = [rung for rung in rungs if rung != ("", "")]
    errors: dict[str, str] = {}
    match: dict[str, Any] = {name: texts[name] for name in TEXTS if texts[name]}
    match |= {mark: texts[mark] == "yes" for mark in MARKS if texts[mark] in {"yes", "no"}}
    for name, known in TICKS.items():
        chosen = [one for one in known if one in ticked[name]]
        if chosen:
            match[name] = [int(one) for one in chosen] if name == "tier" else chosen
    if texts["labels"]:
        match["labels"] = _labels(texts["labels"], errors)
    if texts["seen_elsewhere"]:
        match["seen_elsewhere"] = _whole(texts["seen_elsewhere"], "seen_elsewhere", errors)
    rule: dict[str, Any] = {"name": texts["name"], "verdict": texts["verdict"]}
    if match:
        rule["match"] = match
    if not texts["name"]:
        errors["name"] = "Give the rule a name: people and agents read it."
    if rule["verdict"] == rules.REVIEW:
        rule |= _terms(texts, ticked, kept, errors)
    form = RuleForm(texts=texts, ticked=ticked, rungs=(*kept, ("", "")), errors=errors)
    return None if errors else rule, form


_NAMES = (
    *TEXTS, *MARKS, *SPANS, "name", "verdict", "seen_elsewhere", "labels", "raise", "quorum", "on_expiry",
)  # fmt: skip


def _terms(
    texts: Mapping[str, str],
    ticked: Mapping[str, frozenset[str]],
    rungs: Sequence[tuple[str, str]],
    errors: dict[str, str],
) -> dict[str, Any]:
    """Return on which terms people are asked, without what a rule has anyway."""
    found: dict[str, Any] = {flag: True for flag in FLAGS if flag in ticked["flags"]}
    groups = sorted(ticked["groups"])
    if not groups:
        errors["groups"] = "Tick at least one group that decides."
    elif groups != list(rules.REVIEWERS):
        found["groups"] = groups
    if texts["raise"]:
        found["tier"] = _whole(texts["raise"], "raise", errors)
    if texts["quorum"] not in {"", "1"}:
        found["quorum"] = _whole(texts["quorum"], "quorum", errors)
    if texts["on_expiry"] not in {"", "deny"}:
        found["on_expiry"] = texts["on_expiry"]
    for name in SPANS:
        if texts[name]:
            found[f"{name}_seconds"] = _seconds(texts[name], name, errors)
    ladder = [
        {
            "after_seconds": _seconds(after, f"after-{row}", errors),
            "groups": _names(also, f"also-{row}", errors),
        }
        for row, (after, also) in enumerate(rungs)
    ]
    return found | ({"escalate": ladder} if ladder else {})


def _labels(text: str, errors: dict[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, sign, value = line.partition("=")
        if not sign or not name.strip():
            errors["labels"] = "One label a line, such as team=dunning."
        found[name.strip()] = value.strip()
    return found


def _names(text: str, name: str, errors: dict[str, str]) -> list[str]:
    found = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not found:
        errors[name] = "Name the groups that are asked as well."
    return found


def _whole(text: str, name: str, errors: dict[str, str]) -> int:
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    errors[name] = "This must be a whole number."
    return 0


def _seconds(text: str, name: str, errors: dict[str, str]) -> int:
    """Return a length of time as it is typed: 90 minutes, 4 h, 1 day; a bare number counts seconds."""
    found = _SPAN.match(text)
    if found is None:
        errors[name] = "Write a length of time, such as 90 minutes, 4 hours or 1 day."
        return 0
    return int(found[1]) * _UNITS[(found[2] or "s")[0].lower()]


def _span(seconds: Any) -> str:
    return words.span(seconds) if isinstance(seconds, int) and not isinstance(seconds, bool) else ""


def _yes(value: Any) -> str:
    return "" if value is None else "yes" if value is True else "no"
