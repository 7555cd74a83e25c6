"""Rules in, verdict out: the first match decides, and nothing unknown is ever allowed."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.policies import parsing, rules

DEFAULT = parsing.parse(rules.DEFAULT_RULES)


def facts(**changes: Any) -> rules.Facts:
    given: dict[str, Any] = {
        "agent": "receivables",
        "tool": "email.send",
        "effect": "irreversible",
        "tier": 2,
    }
    return rules.Facts(**given | changes)


def parsed(*found: dict[str, Any]) -> tuple[rules.Rule, ...]:
    return parsing.parse({"version": 1, "rules": [{"name": f"r{n}", **rule} for n, rule in enumerate(found)]})


@pytest.mark.parametrize(
    ("effect", "tier", "verdict", "separation"),
    [
        ("read", 0, "allow", False),
        ("reversible", 1, "allow", False),
        ("irreversible", 2, "review", False),
        ("irreversible", 3, "review", True),
    ],
)
def test_the_first_policy_goes_by_tier(effect: str, tier: int, verdict: str, separation: bool) -> None:
    found = rules.evaluate(DEFAULT, facts(effect=effect, tier=tier))
    assert (found.verdict, found.separation, found.tier) == (verdict, separation, tier)
    assert found.groups == ("reviewer",)
    assert found.rule in found.reason


def test_the_first_match_wins_and_globs_match_whole_names() -> None:
    found = parsed(
        {"match": {"tool": "email.*", "agent": "dunning-*"}, "verdict": "deny"},
        {"match": {"tool": "email.*"}, "verdict": "allow", "undo_seconds": 0},
        {"verdict": "deny"},
    )
    assert rules.evaluate(found, facts()).rule == "r1"
    assert rules.evaluate(found, facts(agent="dunning-de")).verdict == "deny"
    assert rules.evaluate(found, facts(tool="myemail.send")).rule == "r2"
    assert rules.evaluate(found, facts(tool="EMAIL.send")).rule == "r2"


def test_no_match_allows_reading_and_reviews_every_effect() -> None:
    assert rules.evaluate((), facts(effect="read", tier=0)).verdict == "allow"
    assert rules.evaluate((), facts(effect="read", tier=1)).verdict == "review"
    assert rules.evaluate((), facts(effect="reversible", tier=1)).verdict == "review"
    assert rules.evaluate((), facts(tier=3)).separation is True


@pytest.mark.parametrize(
    "wrong",
    [{"effect": "READ"}, {"effect": None}, {"tier": 4}, {"tier": True}, {"tier": "0"}, {"tool": None}],
)
def test_facts_that_nobody_knows_are_reviewed(wrong: dict[str, Any]) -> None:
    found = rules.evaluate(parsed({"verdict": "allow"}), facts(**wrong))
    assert (found.verdict, found.tier) == ("review", 3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"verdict": "Allow"},
        {"verdict": True},
        {"quorum": 0},
        {"quorum": True},
        {"on_expiry": "allow"},
        {"groups": ()},
    ],
)
def test_a_rule_that_was_not_parsed_is_reviewed(wrong: dict[str, Any]) -> None:
    rule = replace(rules.Rule(name="odd", verdict="allow"), **wrong)
    assert rules.evaluate((rule,), facts(effect="read", tier=0)).verdict == "review"


@given(st.tuples(*[st.sampled_from(rules.VERDICTS), st.integers(0, 3), st.integers(1, 3), st.booleans()] * 2))
def test_stricter_is_as_strict_as_both(drawn: tuple[Any, ...]) -> None:
    both = [
        rules.Verdict(
            rule="r",
            verdict=verdict,
            tier=tier,
            quorum=quorum,
            separation=separation,
            expires_seconds=60 * tier,
        )
        for verdict, tier, quorum, separation in (drawn[:4], drawn[4:])
    ]
    found = rules.stricter(both[0], both[1])
    assert rules.VERDICTS.index(found.verdict) == max(rules.VERDICTS.index(one.verdict) for one in both)
    assert found.quorum == max(one.quorum for one in both)
    assert found.tier == max(one.tier for one in both)
    assert found.separation is any(one.separation for one in both)
    assert found.expires_seconds == min(one.expires_seconds or 0 for one in both)


def test_stricter_keeps_the_groups_that_both_name() -> None:
    first = rules.Verdict(rule="a", verdict="review", tier=2, groups=("reviewer", "admin"))
    second = rules.Verdict(rule="b", verdict="review", tier=3, groups=("admin",), undo_seconds=30)
    assert rules.stricter(first, second).groups == ("admin",)
    assert rules.stricter(first, replace(second, groups=("board",))).groups == ("board",)
    assert rules.stricter(first, second).undo_seconds == 30


def rule(**changes: Any) -> dict[str, Any]:
    return {"version": 1, "rules": [{"name": "one", "verdict": "review"} | changes]}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "A policy is an object"),
        ({"version": 1}, "A policy is an object"),
        ({"version": 2, "rules": []}, "version 1 is understood"),
        ({"version": True, "rules": []}, "version 1 is understood"),
        ({"version": 1, "rules": {}}, "must be a list"),
        ({"version": 1, "rules": ["x"]}, "Rule 1 must be an object"),
        ({"version": 1, "rules": [{"verdict": "allow"}]}, "needs a name"),
        ({"version": 1, "rules": [{"name": "a", "verdict": "deny"}] * 2}, "used twice"),
        (rule(verdict="approve"), "allow, review or deny"),
        (rule(verdict=["allow"]), "allow, review or deny"),
        (rule(on_expiry="approve"), "nothing is ever approved by waiting"),
        (rule(quorum=0), "quorum must be a whole number from 1"),
        (rule(quorum="2"), "quorum must be a whole number"),
        (rule(separation="yes"), "separation must be true or false"),
        (rule(groups=[]), "at least one group"),
        (rule(undo_seconds=-1), "undo_seconds"),
        (rule(due_seconds=20, expires_seconds=10), "later than"),
        (rule(match={"tier": [4]}), "0, 1, 2 and 3"),
        (rule(match={"tier": [True]}), "0, 1, 2 and 3"),
        (rule(match={"effect": "read"}), "must be a list"),
        (rule(match={"effect": []}), "must be a list"),
        (rule(match={"tool": 3}), "must be a name"),
        (rule(match={"arguments": "x"}), "match has no key 'arguments'"),
        (rule(when="x"), "there is no key 'when'"),
    ],
)
def test_a_wrong_document_is_refused_in_one_sentence(document: Any, words: str) -> None:
    with pytest.raises(parsing.BadRules) as caught:
        parsing.parse(document)
    assert words in str(caught.value)
    assert str(caught.value).count(". ") == 0
