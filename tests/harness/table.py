"""The exhaustive table: every crash point of the source, each protection, killed once and twice, and stalled.

The points are read from the source. A new one is tested by the plain scene; if that doesn't come to it, the table
says so, and a scene has to be named that does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tests.harness import seams, tools
from tests.harness.plan import PROTECTIONS, Death, Effect, People, Plan

WIRE = {"not applied": "drop_before", "applied, no answer": "none", "applied late": "late"}
"""What becomes of a request whose sender dies while it is on the wire."""

ALIKE = frozenset(
    {"anchor", "anchor_refusals", "note_refusal", "ask_human", "file", "rehearse", "rehearsed", "rehearsal",
     "edit", "extend", "lose", "start", "decide", "withdraw", "hold", "resume", "stop", "expire", "due",
     "stranded", "policy", "switch", "switch_wake", "interrupt", "changed", "wake", "claim", "renew",
     "redrive", "reopen", "fork", "separate", "simulate", "lost_call", "refill", "usage", "model", "reply",
     "read", "read_failed", "prepare", "preview", "precondition", "fold_in", "wait", "pause", "finish",
     "cancel", "fail", "happened_intent", "reply_intent", "happened_reply", "happened_reply_intent",
     "read_reply", "read_reply_intent"}
)  # fmt: skip
"""Kinds that know nothing of protection: one run with an effect of each stands for all three."""

AT_ONCE = frozenset({"read_reply", "read_reply_intent", "happened_reply", "happened_reply_intent"})
"""Commits in which a result goes with the next reply: only a provider that asks nobody makes them."""

ALONE = frozenset(
    {"anchor", "anchor_refusals", "policy", "switch", "interrupt", "switch_wake", "expire", "stranded",
     "happened_intent", "reply_intent", *AT_ONCE}
)  # fmt: skip
"""Kinds that concern every run of a database, or that any clock may do: one run at a time."""

APART = frozenset({"evidence", "usage", "lost_call", "pause", "switch_wake", "interrupt", "switch", "policy"})
"""Kinds to whose points something else has to lead each time."""

_DEPLOY = "a deploy changes a tool under the run: the tests of pinned tools play it"
_EDIT = "somebody changes or gates the plan: the tests of plan edits play it"
_RESTORE = "the database is another one than before: the tests of restores play it"
_DESK = "somebody arranges their own lists, or signs in: no run comes to it or is touched by it"
_BESIDE = (
    "the clock indexes and reads back beside the run: the tests of the search and of reading back play it"
)
NOT_IN_A_RUN = {
    **dict.fromkeys(("index", "verify_asked", "verified", "verify_again", "verify"), _BESIDE),
    **dict.fromkeys(("snooze", "snoozed", "view", "sign_in", "sign_out", "prove", "session_end"), _DESK),
    **dict.fromkeys(("person_changed", "password", "factor", "person_from_outside"), _DESK),
    **dict.fromkeys(
        ("token", "token_revoke", "api_claim", "api_forget"), "of programs' requests, and whose they are"
    ),
    **dict.fromkeys(("ask_check", "check_chain"), "the clock follows the audit chain: no run comes to it"),
    "climb": "it adds people to a question, as does the next: the tests of ladders play it",
    "hand_over": "it adds people to a question: the tests of wider answers play it",
    "first_administrator": "made from the set-up page, before there is any run",
    **dict.fromkeys(("ask_pins", "settle_pins", "overtake"), _DEPLOY),
    "adopt": "the first worker of a new database makes it, before it looks at any run",
    "gone": "a clock ends what stands still on its own machine: the tests of lost processes play it",
    **dict.fromkeys(("restored", "release_restored"), _RESTORE),
    "seal": "an administrator seals what has ended: no run of it comes to this or is touched by it",
    "escalate": "it adds people to a question, and no run comes to it: the tests of deadlines play it",
    **dict.fromkeys(("ask_plan", "edit_plan"), _EDIT),
    "read_intent": "a reply that reads and acts: the tests of one statement play it",
}
"""Kinds without a row, and why."""
TOGETHER = ("lookup",) * 3 + ("idempotent",) * 3
"""Effects of one reply, released at once: rows of one loop, and so of one tool."""
NOBODY_INSIDE = {"read.before_commit": "one statement stores a read; only its long way has an inside"}
"""Points without a row, and why."""
ONLY: dict[str, tuple[str, str]] = {
    "lookup": ("lookup", "only what can be looked up is looked up"),
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One trial of the table: what must befall its processes, and whether it needs the stage to itself."""

    name: str
    plan: Plan
    wanted: tuple[tuple[str, str], ...]
    alone: bool = False
    parts: tuple[Row, ...] = ()  # of a pack: the rows that it stands for

    def befell(self, fired: Iterable[tuple[str, str]]) -> int:
        """Return how much of what had to befall its processes did."""
        return len(self.wanted) - (Counter(self.wanted) - Counter(fired)).total()


def kind_of(point: str) -> str:
    """Return what a point belongs to."""
    return point.partition(".")[0]


def rows() -> list[Row]:
    """Return every row."""
    numbers = iter(range(1, 100_000))
    return [
        replace(row, plan=replace(row.plan, seed=next(numbers), tag="table"))
        for row in (*_points(), *_wire())
    ]


def packs() -> list[Row]:
    """Return all that is in the rows, in fewer trials: one run comes to all points of a kind, killed twice at each.

    Who is killed a second time was killed a first time, so the first attempts are in the second ones. What needs its
    own way to the point stays apart.
    """
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in sorted(rows(), key=lambda row: _order(row.wanted[0][1])):
        how, point = row.wanted[0]
        kind, scene = kind_of(point), replace(row.plan, deaths=(), seed=0)
        if how == "stalled" or row.name.endswith("second" if passes(point) > 1 else "first"):
            where = point if kind in APART else kind
            groups.setdefault((row.name if kind == "wire" else where, how, scene), []).append(row)
    numbers = iter(range(1, 100_000))
    return [_pack(next(numbers), parts) for parts in groups.values()]


def _order(point: str) -> int:
    """Return when a process comes to the point, compared to the others of its kind."""
    end = point.partition(".")[2]
    return (
        3 if end == "after_commit" else 2 if end == "before_commit" else 1 if end.startswith("before") else 4
    )


def _pack(number: int, parts: list[Row]) -> Row:
    """Return these rows of one scene as one: their deaths one after the other, and an effect for each."""
    first = parts[0]
    effects = first.plan.effects
    return replace(
        first,
        name=" + ".join(row.name for row in parts),
        plan=replace(
            first.plan,
            seed=number,
            tag="pack",
            deaths=tuple(death for row in parts for death in row.plan.deaths),
            effects=effects * len(parts) if len(effects) == 1 else effects,
        ),
        wanted=tuple(pair for row in parts for pair in row.wanted),
        parts=tuple(parts),
    )


def _points() -> Iterator[Row]:
    points = [
        point for point in seams.names() if kind_of(point) not in NOT_IN_A_RUN and point not in NOBODY_INSIDE
    ]
    for number, point in enumerate(points):
        if kind_of(point) in ALIKE:
            given: list[tuple[str, ...]] = [PROTECTIONS]
        else:
            given = [(protection,) for protection in PROTECTIONS if not unreachable(point, protection)]
        for protections in given:
            yield _row(point, protections, "first", (Death(point=point),))
            yield _row(point, protections, "second", (Death(point=point), Death(point=point)))
        stalled = Death(point=point, how="stall", beside=bool(number % 2))
        yield _row(point, given[number % len(given)], "stalled", (stalled,))


def unreachable(point: str, protection: str) -> str:
    """Return why no run with this protection comes to the point, or nothing when one does."""
    only, why = ONLY.get(kind_of(point), ("", ""))
    return why if only and protection != only else ""


def excluded() -> list[str]:
    """Return what stands in no row, and why."""
    found = [f"{kind}: {why}" for kind, why in NOT_IN_A_RUN.items()]
    found += [f"{point}: {why}" for point, why in NOBODY_INSIDE.items()]
    return found + [f"{kind} of other tools than {only}: {why}" for kind, (only, why) in ONLY.items()]


ONCE = frozenset(
    {"start", "ask_human",
     "read", "prepare", "finish", "cancel", "fail", "stop", "pause", "wait", "fold_in", "happened",
     "did_not_happen", "unknown", "doubt", "later", "evidence", "read_failed", "redrive", "reopen",
     "fork", "separate", "simulate", "lost_call", "refill", *AT_ONCE}
)  # fmt: skip
"""Commits that a run makes once in its scene: after they stand, nobody comes to them again."""


def passes(point: str) -> int:
    """Return how often a process can be killed at this point in its scene: twice, unless the first one stands."""
    if kind_of(point) in {"evidence", "happened_reply", "happened_reply_intent"}:
        return 1  # what may have happened is found out the long way, so nobody brings a second answer there
    return 1 if point.endswith(".after_commit") and kind_of(point) in ONCE else 2


def _row(point: str, protections: tuple[str, ...], which: str, deaths: tuple[Death, ...]) -> Row:
    kind, how = kind_of(point), {"kill": "died", "stall": "stalled"}[deaths[0].how]
    scene = scenes(kind, protections)
    return Row(
        name=f"{point} {'all' if len(protections) > 1 else protections[0]} {which}",
        plan=replace(scene, deaths=_led_to(point, deaths)),
        wanted=tuple((how, point) for _ in deaths[: passes(point)]),
        alone=kind in ALONE,
    )


def _led_to(point: str, deaths: tuple[Death, ...]) -> tuple[Death, ...]:
    """Return these deaths behind what has to happen before a process comes to the point."""
    first = deaths[0]
    match kind_of(point):
        case "evidence" | "usage":  # who is beyond its lease, and has an answer of the world or of the model
            late = Death(
                point="happened.before" if kind_of(point) == "evidence" else "model.after_call",
                how="stall",
                beside=False,
                undying=True,
            )
            return tuple(replace(late, then=death) for death in deaths)
        case "lost_call":
            return (Death(point="model.before_call"), *deaths)
        case "pause":  # a hold that comes while somebody works on the run
            return (Death(point="prepare.before", how="act", act="pause", then=first), *deaths[1:])
        case "switch_wake":  # when everything is let go on again
            return (Death(point="prepare.before", how="act", act="pause_all"), *deaths)
        case "interrupt" | "switch" | "policy":
            act = "policy" if kind_of(point) == "policy" else "pause_all"
            return tuple(Death(point="prepare.before", how="act", act=act, theirs=death) for death in deaths)
    return deaths


FAULTS: dict[str, tuple[str, ...]] = {
    "did_not_happen": ("refused",),
    "later": ("refused_again",),
    "unknown": ("drop_after",),
    "lookup": ("drop_after",),
}
DOUBTS: dict[str, tuple[str, ...]] = {
    "unprotected": ("drop_after",),
    "lookup": ("drop_after", "blind"),
    "idempotent": ("drop_before",) * 3,
}
"""What leaves an effect of each protection in doubt: nobody may look, nobody can, or all sends are used up."""
PEOPLE: dict[str, People] = {
    "cancel": People(stop=1.0),
    "stop": People(stop=1.0),
    "hold": People(pause=1.0),
    "resume": People(pause=1.0),
    "redrive": People(redrive=1.0),
    "reopen": People(redrive=1.0),
    "fork": People(fork=1.0),
    "simulate": People(fork=1.0),
    "separate": People(separate=1.0),
    "withdraw": People(withdraw=1.0),
    "expire": People(expire=1.0),
    "edit": People(edit=1.0),
    "note_refusal": People(double_click=1.0),
    "rehearse": People(edit=1.0),
    "rehearsed": People(edit=1.0),
    "rehearsal": People(edit=1.0),
    "extend": People(extend=1.0),
    "stranded": People(strand=1.0),
}


def scenes(kind: str, protections: tuple[str, ...]) -> Plan:
    """Return the plan, still without deaths, in which a run comes to the points of this kind."""
    allowed = kind in {"happened_intent", "reply_intent"} | AT_ONCE
    if kind in AT_ONCE:
        protections = ("lookup", "idempotent")
    elif allowed or kind == "refill":
        protections = TOGETHER
    effects = tuple(
        Effect(protection=one, faults=DOUBTS[one] if kind == "doubt" else FAULTS.get(kind, ()))
        for one in protections
    )
    reads = ("refused",) * 3 if kind in {"read_failed", "fail"} else ()
    policy = "allow" if allowed else ""
    return Plan(
        seed=0,
        effects=effects,
        people=PEOPLE.get(kind, People()),
        reads=reads,
        policy=policy,
        question=kind == "ask_human",
        local=kind in AT_ONCE,
    )


def _wire() -> Iterator[Row]:
    for protection in PROTECTIONS:
        for what, fault in WIRE.items():
            for which, count in (("first", 1), ("second", 2)):
                effect = Effect(protection=protection, faults=(fault,) * count)
                times = count if protection == "idempotent" else 1  # nothing else is sent again unasked
                yield Row(
                    name=f"{tools.SENT}, {what} {protection} {which}",
                    plan=Plan(seed=0, effects=(effect,), deaths=(Death(point=tools.SENT),) * count),
                    wanted=(("died", tools.SENT),) * times,
                )
