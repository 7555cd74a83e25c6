"""What a rule may say about one call: found out only when it is asked, and a doubt means that a person decides."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from runs.policies import parsing, rules
from tests.policies.test_rules import facts, parsed


class Told(Mapping[str, Any]):
    """A call of which only this is known, and which notes what it was asked."""

    def __init__(self, **known: Any) -> None:
        self.known, self.asked = known, list[str]()

    def __getitem__(self, name: str) -> Any:
        self.asked.append(name)
        if isinstance(self.known[name], Exception):
            raise self.known[name]
        return self.known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)


REST = {"verdict": "allow"}


@pytest.mark.parametrize(
    ("match", "call", "verdict"),
    [
        ({"duplicate": True}, {"duplicate": True}, "deny"),
        ({"duplicate": True}, {"duplicate": False}, "allow"),
        ({"deviation": False}, {"deviation": False}, "deny"),
        ({"first_time": True}, {"first_time": True}, "deny"),
        ({"seen_elsewhere": 30}, {"seen_elsewhere": 29.9}, "deny"),
        ({"seen_elsewhere": 30}, {"seen_elsewhere": 30.1}, "allow"),
        ({"seen_elsewhere": 30}, {"seen_elsewhere": None}, "allow"),
        ({"when": "args.amount > 1000"}, {"args": {"amount": 1001}}, "deny"),
        ({"when": "args.amount > 1000"}, {"args": {"amount": 1000}}, "allow"),
        ({"when": "run.labels.team == 'x'"}, {"run": {"labels": {"team": "x"}}}, "deny"),
        ({"when": "budget.calls.left < 5"}, {"budget": {"calls": {"left": 4}}}, "deny"),
        ({"first_time": True, "when": "args.a"}, {"first_time": False}, "allow"),
    ],
)
def test_a_rule_may_ask_about_the_one_call(match: dict[str, Any], call: dict[str, Any], verdict: str) -> None:
    found = rules.evaluate(parsed({"match": match, "verdict": "deny"}, REST), facts(), Told(**call))
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("match", "call"),
    [
        ({"first_time": True}, {}),
        ({"first_time": True}, {"first_time": None}),
        ({"first_time": True}, {"first_time": rules.Unknown("its preview names no target.")}),
        ({"seen_elsewhere": 3}, {}),
        ({"when": "args.amount > 1000"}, {}),
        ({"when": "args.amount > 1000"}, {"args": {}}),
        ({"when": "args.amount > 1000"}, {"args": {"amount": "1001"}}),
        ({"when": "args.amount"}, {"args": {"amount": 1}}),
        ({"when": "args.rows.exists(a, args.rows.exists(b, a == b))"}, {"args": {"rows": [1] * 500}}),
    ],
)
@pytest.mark.parametrize("verdict", ["allow", "deny"])
def test_what_can_not_be_known_or_evaluated_is_put_before_a_person(
    match: dict[str, Any], call: dict[str, Any], verdict: str
) -> None:
    """Never allowed, whatever the rule says and whatever rules follow."""
    found = rules.evaluate(parsed({"match": match, "verdict": verdict}, REST), facts(), Told(**call))
    assert (found.verdict, found.rule) == ("review", "r0")
    assert "could not be applied, so a person decides" in found.reason


def test_a_doubt_about_a_rule_that_asks_keeps_its_terms() -> None:
    asks = {"match": {"first_time": True}, "verdict": "review", "quorum": 2, "groups": ["board"]}
    found = rules.evaluate(parsed(asks), facts(tier=3), Told())
    assert (found.quorum, found.groups, found.separation) == (2, ("board",), True)


def test_nothing_is_found_out_that_no_rule_asks() -> None:
    """What costs a look at the world is looked at only where all else of the rule fits."""
    found = parsed(
        {"match": {"tool": "ledger.*", "first_time": True}, "verdict": "review"},
        {"match": {"duplicate": True, "first_time": True}, "verdict": "review"},
        {"verdict": "allow"},
    )
    call = Told(duplicate=False)
    assert rules.evaluate(found, facts(), call).verdict == "allow"
    assert call.asked == ["duplicate"]
    assert rules.depends(found, facts())
    assert not rules.depends(found[2:], facts())
    assert not rules.depends((), facts())


def test_tool_agent_and_run_are_matched_first() -> None:
    known = {"protection": "lookup", "mode": "live", "labels": (("team", "dunning"),), "open_world": True}
    assert _first({"protection": ["lookup"]}, known)
    assert not _first({"protection": ["idempotent"]}, known)
    assert not _first({"mode": ["dry_run"]}, known)
    assert _first({"labels": {"team": "dun*"}}, known)
    assert not _first({"labels": {"team": "dun*", "site": "*"}}, known)
    assert _first({"open_world": True}, known)
    assert not _first({"open_world": False}, known)


def _first(match: dict[str, Any], known: dict[str, Any]) -> bool:
    return rules.evaluate(parsed({"match": match, "verdict": "deny"}, REST), facts(**known)).verdict == "deny"


def test_a_rule_raises_a_tier_and_never_lowers_one() -> None:
    raised = parsed({"verdict": "review", "tier": 3})
    assert rules.evaluate(raised, facts(tier=1)).tier == 3
    assert rules.evaluate(parsed({"verdict": "review", "tier": 1}), facts(tier=2)).tier == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"match": {"when": "args.amount >"}}, "match.when can't be read"),
        ({"match": {"when": "input.amount > 1"}}, "speaks of 'input'; there are args, budget and run"),
        ({"match": {"when": ""}}, "must be a condition"),
        ({"match": {"when": "a" * 2_001}}, "the limit is 2,000"),
        ({"match": {"first_time": "yes"}}, "match.first_time must be true or false"),
        ({"match": {"seen_elsewhere": 0}}, "match: seen_elsewhere must be a whole number from 1"),
        ({"match": {"labels": {}}}, "match.labels must be an object of texts"),
        ({"match": {"protection": ["none"]}}, "idempotent, lookup and unprotected"),
        ({"tier": 4}, "tier must be a whole number from 0 to 3"),
        ({"escalate": {}}, "escalate must be a list"),
        ({"escalate": [{"after": 5}]}, "each step of escalate"),
        ({"escalate": [{"after_seconds": None, "groups": ["admin"]}]}, "must come later"),
        ({"escalate": [{"after_seconds": 5, "groups": ["admin"]}] * 2}, "must come later"),
        ({"escalate": [{"after_seconds": 5, "groups": ["admin"]}], "expires_seconds": 5}, "when the question is over"),
        ({"on_expiry": "approve"}, "nothing is ever approved by waiting"),
    ],
)  # fmt: skip
def test_what_can_not_be_applied_is_refused_when_it_is_written(change: dict[str, Any], words: str) -> None:
    with pytest.raises(parsing.BadRules) as caught:
        parsed({"verdict": "review"} | change)
    assert words in str(caught.value)
