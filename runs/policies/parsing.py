"""Reading a policy document: strictly, with one sentence for the first thing that is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from runs import cel
from runs.policies import rules

VERSION = 1
MAX_RULES = 200
_RULE_KEYS = frozenset(
    {
        "name",
        "match",
        "verdict",
        "tier",
        "groups",
        "quorum",
        "separation",
        "due_seconds",
        "expires_seconds",
        "on_expiry",
        "escalate",
        "undo_seconds",
        "reason_required",
    }
)
_MATCH_KEYS = frozenset(field.name for field in dataclasses.fields(rules.Match))
_LONGEST = 366 * 86_400
_MOST_RUNGS = 5


class BadRules(ValueError):
    """The document is no policy of version 1; the message is one sentence that names the rule."""


def parse(document: Any) -> tuple[rules.Rule, ...]:
    """Return the rules of {"version": 1, "rules": [...]}; refuse (BadRules) anything else."""
    if not isinstance(document, Mapping) or set(document) != {"version", "rules"}:
        raise BadRules('A policy is an object with "version" and "rules", and nothing else.')
    if type(document["version"]) is not int or document["version"] != VERSION:
        raise BadRules(f"This policy has version {document['version']!r}; version {VERSION} is understood.")
    found = document["rules"]
    if not isinstance(found, list | tuple) or len(found) > MAX_RULES:
        raise BadRules(f'"rules" must be a list of at most {MAX_RULES} rules.')
    names: set[str] = set()
    parsed = []
    for number, raw in enumerate(found, start=1):
        rule = _rule(raw, number)
        if rule.name in names:
            raise BadRules(f"Rule {number}: the name {rule.name!r} is used twice.")
        names.add(rule.name)
        parsed.append(rule)
    return tuple(parsed)


def _rule(raw: Any, number: int) -> rules.Rule:
    if not isinstance(raw, Mapping):
        raise BadRules(f"Rule {number} must be an object.")
    name = raw.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > 100:
        raise BadRules(f"Rule {number} needs a name of at most 100 characters.")
    where = f"Rule {number} ({name})"
    if extra := sorted(str(key) for key in set(raw) - _RULE_KEYS):
        raise BadRules(f"{where}: there is no key {extra[0]!r}.")
    verdict = raw.get("verdict")
    if verdict not in rules.VERDICTS:
        raise BadRules(f"{where}: the verdict must be {_either(rules.VERDICTS)}.")
    on_expiry = raw.get("on_expiry", "deny")
    if on_expiry not in rules.ON_EXPIRY:
        raise BadRules(
            f"{where}: on_expiry must be {_either(rules.ON_EXPIRY)}; nothing is ever approved by waiting."
        )
    quorum = _number(where, raw, "quorum", lowest=1, highest=10)
    due = _number(where, raw, "due_seconds", lowest=1)
    expires = _number(where, raw, "expires_seconds", lowest=1)
    if due is not None and expires is not None and due > expires:
        raise BadRules(f"{where}: due_seconds is later than expires_seconds.")
    tier = _number(where, raw, "tier", lowest=min(rules.TIERS), highest=max(rules.TIERS))
    return rules.Rule(
        name=name,
        verdict=str(verdict),
        tier=tier,
        match=_match(where, raw.get("match", {})),
        groups=_groups(where, raw.get("groups", list(rules.REVIEWERS))),
        quorum=1 if quorum is None else quorum,
        separation=_flag(where, raw, "separation"),
        due_seconds=due,
        expires_seconds=expires,
        on_expiry=str(on_expiry),
        escalate=_ladder(where, raw.get("escalate", []), ends=expires),
        undo_seconds=_number(where, raw, "undo_seconds", lowest=0),
        reason_required=_flag(where, raw, "reason_required"),
    )


def _match(where: str, raw: Any) -> rules.Match:
    if not isinstance(raw, Mapping):
        raise BadRules(f"{where}: match must be an object.")
    if extra := sorted(str(key) for key in set(raw) - _MATCH_KEYS):
        raise BadRules(f"{where}: match has no key {extra[0]!r}.")
    for key in ("agent", "tool"):
        if key in raw and (not isinstance(raw[key], str) or not raw[key].strip()):
            raise BadRules(f"{where}: match.{key} must be a name, with * and ? for what may vary.")
    marks = {key: _truth(where, raw, key) for key in (*rules.MARKS, "open_world")}
    within = f"{where}: match"
    return rules.Match(
        agent=raw.get("agent"),
        tool=raw.get("tool"),
        effect=_among(where, raw, "effect", rules.EFFECTS),
        tier=_among(where, raw, "tier", rules.TIERS),
        protection=_among(where, raw, "protection", rules.PROTECTIONS),
        mode=_among(where, raw, "mode", rules.MODES),
        labels=_labels(where, raw.get("labels")),
        seen_elsewhere=_number(within, raw, "seen_elsewhere", lowest=1, highest=3_660),
        when=_condition(where, raw.get("when")),
        **marks,
    )


def _truth(where: str, raw: Mapping[str, Any], key: str) -> bool | None:
    if key in raw and not isinstance(raw[key], bool):
        raise BadRules(f"{where}: match.{key} must be true or false.")
    return raw.get(key)


def _labels(where: str, raw: Any) -> tuple[tuple[str, str], ...] | None:
    if raw is None:
        return None
    if not isinstance(raw, Mapping) or not raw or not all(isinstance(value, str) for value in raw.values()):
        raise BadRules(f"{where}: match.labels must be an object of texts, with * and ? for what may vary.")
    return tuple(sorted(raw.items()))


def _condition(where: str, text: Any) -> str | None:
    """Return a condition that can be read, and that speaks of nothing but what there is."""
    if text is None:
        return None
    if not isinstance(text, str) or not text.strip():
        raise BadRules(f"{where}: match.when must be a condition, such as args.amount > 1000.")
    try:
        names = cel.check(text)
    except cel.CelError as error:
        raise BadRules(f"{where}: match.when can't be read: {error}") from error
    if extra := sorted(names - rules.NAMES):
        raise BadRules(
            f"{where}: match.when speaks of {extra[0]!r}; there are {_either(tuple(sorted(rules.NAMES)), 'and')}."
        )
    return text


def _ladder(where: str, raw: Any, *, ends: int | None) -> tuple[rules.Rung, ...]:
    """Return who is asked as well and when, in the order of time."""
    if not isinstance(raw, list | tuple) or len(raw) > _MOST_RUNGS:
        raise BadRules(f"{where}: escalate must be a list of at most {_MOST_RUNGS} steps.")
    rungs: list[rules.Rung] = []
    for item in raw:
        if not isinstance(item, Mapping) or set(item) != {"after_seconds", "groups"}:
            raise BadRules(f'{where}: each step of escalate is an object with "after_seconds" and "groups".')
        after = _number(f"{where}: escalate", item, "after_seconds", lowest=1)
        if after is None or (rungs and after <= rungs[-1].after_seconds):
            raise BadRules(f"{where}: each step of escalate must come later than the one before.")
        if ends is not None and after >= ends:
            raise BadRules(f"{where}: a step of escalate comes only when the question is over.")
        rungs.append(rules.Rung(after_seconds=after, groups=_groups(f"{where}: escalate", item["groups"])))
    return tuple(rungs)


def _among(where: str, raw: Mapping[str, Any], key: str, known: tuple[Any, ...]) -> tuple[Any, ...] | None:
    if key not in raw:
        return None
    value = raw[key]
    literal = isinstance(value, list | tuple) and all(
        any(type(item) is type(one) and item == one for one in known) for item in value
    )
    if not literal or not value:
        raise BadRules(f"{where}: match.{key} must be a list with any of {_either(known, 'and')}.")
    return tuple(value)


def _groups(where: str, value: Any) -> tuple[str, ...]:
    if (
        not isinstance(value, list | tuple)
        or not value
        or not all(isinstance(item, str) and item.strip() for item in value)
    ):
        raise BadRules(f"{where}: groups must be a list with at least one group's name.")
    return tuple(dict.fromkeys(value))


def _flag(where: str, raw: Mapping[str, Any], key: str) -> bool:
    value = raw.get(key, False)
    if not isinstance(value, bool):
        raise BadRules(f"{where}: {key} must be true or false.")
    return value


def _number(
    where: str, raw: Mapping[str, Any], key: str, *, lowest: int, highest: int = _LONGEST
) -> int | None:
    value = raw.get(key)
    if value is None:
        return None
    if type(value) is not int or not lowest <= value <= highest:
        raise BadRules(f"{where}: {key} must be a whole number from {lowest} to {highest:,}.")
    return value


def _either(known: tuple[Any, ...], word: str = "or") -> str:
    quoted = [str(item) for item in known]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"
