"""The policy editor's form: the rules as a list with one of them open, or all as exact JSON, whichever was typed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runs import exact
from runs.forms import decisions, policy_rules
from runs.forms.policy_rules import RuleForm
from runs.forms.schemas import fields as drawn
from runs.forms.schemas import reading
from runs.policies import parsing, rules

RULES, JSON = "rules", "json"
SAVE, LIVE, TRY, NEW = "save", "live", "try", "new"
EMPTY: Mapping[str, Any] = {"name": "", "verdict": rules.REVIEW}
"""A rule that isn't written yet."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """The form as it is drawn or was sent. `document` is a policy that can be put in force, or None."""

    rules: tuple[Mapping[str, Any], ...] = ()
    document: Mapping[str, Any] | None = None
    open: int = 0  # the rule that is being written, from 1
    rule: RuleForm | None = None
    tab: str = RULES
    text: str = ""
    base: int = 0
    reason: str = ""
    act: str = ""
    focus: str = ""
    days: int = 30
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def verb(self) -> str:
        """Return what the pressed button asks for."""
        return self.act.partition(":")[0]


@dataclass
class _Draft:
    """The rules, and which of them is open, as the buttons change them."""

    rules: list[Mapping[str, Any]]
    open: int = 0
    form: RuleForm | None = None
    tab: str = RULES
    focus: str = ""

    def show(self, number: int) -> None:
        """Open this rule, or none."""
        known = 0 < number <= len(self.rules)
        self.open = number if known else 0
        self.form = policy_rules.build(self.rules[number - 1]) if known else None


def begin(document: Mapping[str, Any], *, base: int) -> Given:
    """Return the form of the policy in force."""
    return Given(rules=tuple(document["rules"]), document=document, base=base, text=drawn.shown(document))


def read(sent: Mapping[str, Sequence[str]]) -> Given:
    """Return what was sent, changed as the pressed button asks, with what stands against it."""
    act = reading.last(sent, "act") or SAVE
    verb, _, place = act.partition(":")
    text = reading.last(sent, "document") or ""
    draft = _Draft(rules=[], tab=JSON if reading.last(sent, "tab") == JSON else RULES)
    errors: dict[str, str] = {}
    try:
        draft.rules = _rules(exact.parse(text))
    except (exact.NotExact, parsing.BadRules) as error:
        errors["document"], draft.tab = str(error), JSON
    else:
        at = decisions.number(reading.last(sent, "open") or "")
        if draft.tab == RULES and 0 < at <= len(draft.rules) and act != f"drop:{at}":
            errors = _take(draft, at, sent)
        if not errors:
            _press(draft, verb, place)
    document = {"version": parsing.VERSION, "rules": draft.rules}
    if not errors and verb != NEW:
        errors = _against(document, draft)
    reason = (reading.last(sent, "reason") or "").strip()
    if verb == SAVE and not errors:
        errors |= _reason(reason)
    return Given(
        rules=tuple(draft.rules),
        document=None if errors or verb == NEW else document,
        open=draft.open,
        rule=draft.form,
        tab=draft.tab,
        text=text if "document" in errors else drawn.shown(document),
        base=decisions.number(reading.last(sent, "base") or ""),
        reason=reason,
        act=act,
        focus=draft.focus,
        days=decisions.number(reading.last(sent, "days") or ""),
        errors=errors,
    )


def _take(draft: _Draft, at: int, sent: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Put the open rule as it was typed in its place; return what can't stay so."""
    rule, draft.form = policy_rules.read(sent)
    draft.open = at
    if rule is not None:
        draft.rules[at - 1] = rule
    return {f"{policy_rules.PREFIX}{name}": sentence for name, sentence in draft.form.errors.items()}


def _press(draft: _Draft, verb: str, place: str) -> None:
    """Change the draft as the button asks; what it can't do changes nothing."""
    number, count = decisions.number(place), len(draft.rules)
    known = 0 < number <= count
    match verb:
        case "open" if known:
            draft.show(number)
            draft.focus = "rule"
        case "new":
            draft.rules.append(EMPTY)
            draft.show(count + 1)
            draft.tab, draft.focus = RULES, "rule"
        case "close":
            draft.focus = f"rule-{draft.open}"
            draft.show(0)
        case "tab":
            draft.tab, draft.focus = JSON if place == JSON else RULES, "tab"
            draft.show(0)
        case "drop" if known:
            del draft.rules[number - 1]
            draft.show(0)
            draft.focus = "tab"
        case "earlier" | "later" if known:
            other = number + (1 if verb == "later" else -1)
            if 0 < other <= count:
                pair = draft.rules[other - 1], draft.rules[number - 1]
                draft.rules[number - 1], draft.rules[other - 1] = pair
            draft.show(0)
            there = min(max(other, 1), count)
            end = count if verb == "later" else 1  # where the button that was pressed goes no further
            draft.focus = f"{'rule' if there == end else verb}-{there}"


def _rules(document: Any) -> list[Mapping[str, Any]]:
    """Return the rules of a document as they are written; refuse (BadRules) what is no list of objects."""
    if isinstance(document, Mapping) and isinstance(document.get("rules"), list):
        found = document["rules"]
        if all(isinstance(rule, Mapping) for rule in found):
            parsing.parse({**document, "rules": []})  # a rule that isn't finished is told of where it stands
            return list(found)
    parsing.parse(document)
    raise parsing.BadRules("Each rule must be an object.")


def _against(document: Mapping[str, Any], draft: _Draft) -> dict[str, str]:
    """Return what stands against putting it in force, where the text stands, or over the list."""
    try:
        parsing.parse(document)
    except parsing.BadRules as error:
        return {"document" if draft.tab == JSON else "": str(error)}
    return {}


def _reason(reason: str) -> dict[str, str]:
    if not reason:
        return {"reason": "Say why the policy changes; the reason stays in its history."}
    if len(reason) > decisions.LONGEST:
        return {
            "reason": f"This is too long: {len(reason):,} characters; at most {decisions.LONGEST:,} are kept."
        }
    return {"reason": "This holds a NUL character, which can't be kept."} if "\x00" in reason else {}
