"""The choices that the form of a policy rule offers, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group

from runs import models
from runs.policies import rules, words
from runs.tools import registry

_TICKS = {
    "tier": "Tier",
    "effect": "Effect",
    "protection": "Unknown outcome",
    "mode": "Mode",
}
_LABELS = {
    "tier": {"0": "0, reads", "1": "1, can be undone", "2": "2, costly to undo", "3": "3, can't be undone"},
    "effect": {"read": "only reads", "reversible": "can be undone", "irreversible": "can't be undone"},
    "protection": {
        "idempotent": "the same key does it once", "lookup": "can be looked up", "unprotected": "only people can say",
    },
    "mode": {"live": "live", "dry_run": "dry run"},
}  # fmt: skip
_MARKS = {
    "open_world": ("Reach of the tool", "the open world", "known places only"),
    "duplicate": ("Proposed before", "it looks like something before", "it is new"),
    "deviation": ("The approved plan", "it leaves the plan", "it keeps to the plan"),
    "first_time": ("The target", "never reached before", "reached before"),
}
MANY = 200
_SPANS = {"due": "Due after", "expires": "Over after", "undo": "Can be taken back for"}
VERDICTS = ((rules.ALLOW, "It goes through"), (rules.REVIEW, "People decide"), (rules.DENY, "It is refused"))
ENDS = (
    ("deny", "it is denied"),
    (rules.ESCALATE, "administrators are asked, then it is denied"),
    (rules.STAY, "it stays open"),
)


@dataclass(frozen=True, kw_only=True)
class Part:
    """One control with its choices."""

    name: str
    title: str
    options: tuple[tuple[str, str], ...] = ()
    ticked: frozenset[str] = frozenset()
    chosen: str = ""
    text: str = ""
    usual: str = ""
    error: str = ""

    @property
    def error_id(self) -> str:
        """Return the id of the sentence about it."""
        return f"f-rule-{self.name}-error"


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One row of who is asked as well."""

    row: int
    after: str
    also: str
    after_error: str = ""
    also_error: str = ""

    @property
    def after_id(self) -> str:
        """Return the id of the sentence about the time."""
        return f"f-rule-after-{self.row}-error"

    @property
    def also_id(self) -> str:
        """Return the id of the sentence about the groups."""
        return f"f-rule-also-{self.row}-error"


def choices(
    texts: Mapping[str, str],
    ticked: Mapping[str, frozenset[str]],
    rungs: tuple[tuple[str, str], ...],
    errors: Mapping[str, str],
) -> dict[str, Any]:
    """Return what the form of a rule needs besides the rule, by name."""
    return {
        "ticks": [
            Part(name=name, title=title, options=tuple(_LABELS[name].items()), ticked=ticked[name])
            for name, title in _TICKS.items()
        ],
        "marks": [
            Part(
                name=name,
                title=title,
                options=(("", "doesn't matter"), ("yes", yes), ("no", no)),
                chosen=texts[name],
            )
            for name, (title, yes, no) in _MARKS.items()
        ],
        "spans": [
            Part(name=name, title=title, text=texts[name], usual=_usual(name), error=errors.get(name, ""))
            for name, title in _SPANS.items()
        ],
        "rungs": [
            Rung(
                row=row, after=after, also=also, after_error=errors.get(f"after-{row}", ""),
                also_error=errors.get(f"also-{row}", ""),
            )
            for row, (after, also) in enumerate(rungs)
        ],
        "groups": sorted({*Group.objects.values_list("name", flat=True), *ticked["groups"]}),
        "verdicts": VERDICTS,
        "ends": ENDS,
        "tiers": [str(tier) for tier in rules.TIERS],
        "tools": sorted(tool.name for tool in registry.all()),
        "agents": list(models.Agent.objects.order_by("name").values_list("name", flat=True)[:MANY]),
        "arguments": _arguments(texts["tool"].strip()),
    }  # fmt: skip


def _arguments(name: str) -> tuple[str, ...]:
    """Return the arguments of the tool that is named, for who writes a condition."""
    tool = next((tool for tool in registry.all() if tool.name == name), None)
    return () if tool is None else tuple(tool.Arguments.model_fields)


def _usual(name: str) -> str:
    if name == "undo":
        return "as the tier has it"
    return words.span(int(settings.CKPTSITE[f"REVIEW_{name.upper()}"]))
