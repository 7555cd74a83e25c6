"""What a run's log says beyond the folded state: the facts that the rows about it must repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from runs import lifecycle, state
from runs.transitions.steps import advances


@dataclass
class Call:
    """What the log says of one effect: its proposal, the newest verdict, each send and where the receipt stands."""

    proposed: Mapping[str, Any]
    identity: str
    verdict: Mapping[str, Any] = field(default_factory=dict)
    review: Mapping[str, Any] = field(default_factory=dict)
    intents: list[Mapping[str, Any]] = field(default_factory=list)
    receipt: int | None = None
    edited: bool = False
    asked: bool = False
    by_hand: Any = None
    digests: dict[int, str] = field(default_factory=dict)


@dataclass
class Step:
    """Where in the log a plan step was last called and last closed."""

    called: tuple[int, int] | None = None
    closed: int | None = None


class Log:
    """Collects what is told, line after line."""

    def __init__(self) -> None:
        self.calls: dict[state.CallId, Call] = {}
        self.steps: dict[str, Step] = {}
        self.plans: dict[int, tuple[int, str | None]] = {}
        self.asked: dict[int, Mapping[str, Any]] = {}
        self.reviews: dict[int, Mapping[str, Any]] = {}
        self.placed: dict[int, int] = {}
        self.later: dict[int, str] = {}
        self.heads: dict[int, str] = {}
        self.budgets: dict[int, str] = {}
        self.used = state.Counters()
        self.tool_calls: Counter[str] = Counter()
        self.settled: Counter[int] = Counter()
        self.over: Counter[int] = Counter()
        self._tools: dict[tuple[int, int], str] = {}
        self.waivers: dict[str, state.CallId | None] = {}
        self.facts: dict[int, str] = {}

    def branch(self) -> None:
        """Leave the ancestors behind: actions, plan versions, questions and costs are theirs; the steps go on."""
        self.calls, self.plans, self.reviews, self.later, self.heads = {}, {}, {}, {}, {}
        self.budgets, self.used, self.tool_calls = {}, state.Counters(), Counter()
        self.settled, self.over = Counter(), Counter()
        self.asked, self.waivers, self.facts, self.placed = {}, {}, {}, {}

    def read(self, entry: state.Line, after: state.State) -> None:
        """Take in one line; `after` is the state that it leads to."""
        content = entry.content
        self.count(entry)
        if "fact" in content:
            self.facts[content["fact"][0]] = content["fact"][1]
        match entry.kind:
            case lifecycle.EntryKind.REPLY:
                self._reply(entry)
            case lifecycle.EntryKind.CALL:
                self._proposed((content["call"][0], content["call"][1]), content)
            case lifecycle.EntryKind.PLAN:
                self.plans[content["version"]] = (entry.position, content["author"])
                self.steps = {step.id: self.steps.get(step.id, Step()) for step in after.plan}
            case lifecycle.EntryKind.VERDICT if "call" not in content or content["verdict"] == "question":
                self.asked[content["review"]] = content
            case lifecycle.EntryKind.NOTE if "waivers" in content:
                self.waivers = dict(content["waivers"])
            case lifecycle.EntryKind.NOTE if content.get("kind") == lifecycle.ReviewKind.IN_DOUBT:
                self.later[content["review"]] = content.get("answer", "")
            case lifecycle.EntryKind.NOTE if content.get("code") == "budget":
                self.budgets[content["review"]] = content["digest"]
            case _:
                self._call(entry)

    def count(self, entry: state.Line) -> None:
        """Count what this line has used."""
        content = entry.content
        if entry.kind == lifecycle.EntryKind.REPLY:
            self.used = self.used.paid(content["usage"], steps=1)
            self._tools |= {(entry.position, at): call["tool"] for at, call in enumerate(content["calls"])}
        elif entry.kind == lifecycle.EntryKind.CALL:
            self._tools[content["call"][0], content["call"][1]] = content["tool"]
        elif entry.kind in {lifecycle.EntryKind.NOTE, lifecycle.EntryKind.SUMMARY} and "usage" in content:
            self.used = self.used.paid(content["usage"], content.get("instead"))
        elif entry.kind == lifecycle.EntryKind.NOTE and content.get("code") == advances.SETTLED:
            for account, spent, held in content["accounts"]:
                self.settled[account] += spent
                self.over[account] += max(0, spent - held)
        elif entry.kind == lifecycle.EntryKind.RESULT and content.get("ran"):
            self.used = replace(self.used, calls=self.used.calls + 1)
            self.tool_calls[self._tools[content["call"][0], content["call"][1]]] += 1

    def _reply(self, entry: state.Line) -> None:
        for index, call in enumerate(entry.content["calls"]):
            self._proposed((entry.position, index), call)

    def _proposed(self, call_id: state.CallId, call: Mapping[str, Any]) -> None:
        if call["step"] in self.steps:
            self.steps[call["step"]].called = call_id
        if call["effect"] not in {"read", "control"}:
            told = Call(proposed=call, identity=call["identity"])
            told.digests[1] = call["digest"]
            if call.get("verdict") in {"allow", "deny"}:
                told.verdict = call
            self.calls[call_id] = told

    def _call(self, entry: state.Line) -> None:
        content = entry.content
        if entry.kind == lifecycle.EntryKind.RESULT and content.get("step") in self.steps:
            self.steps[content["step"]].closed = entry.position
        if "call" not in content or (told := self.calls.get(tuple(content["call"]))) is None:
            return
        match entry.kind:
            case lifecycle.EntryKind.VERDICT:
                if content.get("review") is not None:
                    self.reviews[content["review"]] = content
                    self.placed[content["review"]] = entry.position
                if content["verdict"] != lifecycle.Action.IN_DOUBT:
                    told.verdict = content
                    told.review = content if content["verdict"] == "review" else {}
                    told.edited, told.asked = False, told.asked or bool(told.review)
            case lifecycle.EntryKind.INTENT:
                told.intents.append(content)
                if content.get("waives") is not None:
                    self.waivers[str(content["waives"])] = (content["call"][0], content["call"][1])
            case lifecycle.EntryKind.RECEIPT | lifecycle.EntryKind.RESULT if "receipt" in content:
                told.receipt = entry.position
                told.by_hand = content.get("occurrence", told.by_hand)
            case lifecycle.EntryKind.DECISION if "identity" in content:  # a person said which effect it is
                told.identity = content["identity"]
            case lifecycle.EntryKind.REVISION:
                told.digests[content["number"]] = content["digest"]
                told.identity = content.get("identity", told.identity)
                told.edited = "review" in content
