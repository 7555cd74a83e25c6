"""Negative controls: ways to build the engine wrongly. Each must be caught, or the harness proves nothing.

A control is a change of the real code together with the plans in which it does harm, and the kinds of violation that
must be found in them; the same plans find none of these with the code as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from tests.harness import tools, wrongs
from tests.harness.plan import PROTECTIONS, Death, Effect, People, Plan

Patch = Callable[[ExitStack], None]


@dataclass(frozen=True, kw_only=True)
class Control:
    """One way to build it wrongly."""

    breaks: Patch
    plans: tuple[Plan, ...]
    caught_as: tuple[str, ...]


def _plans(
    *deaths: Death,
    protections: tuple[str, ...] = PROTECTIONS,
    faults: tuple[str, ...] = (),
    people: People | None = None,
    **more: Any,
) -> tuple[Plan, ...]:
    """Return one plan for each protection, in which these deaths are all that happens."""
    return tuple(
        Plan(
            seed=0,
            effects=(Effect(protection=protection, faults=faults),),
            deaths=deaths,
            people=people or People(),
            **more,
        )
        for protection in protections
    )


CONTROLS: dict[str, Control] = {
    "naive-retry": Control(
        breaks=wrongs.naive_retry,
        plans=_plans(Death(point=tools.SENT), protections=("unprotected", "lookup")),
        caught_as=("doubled",),
    ),
    "ack-first": Control(
        breaks=wrongs.ack_first, plans=_plans(Death(point="read.before")), caught_as=("lost",)
    ),
    "no-fence": Control(
        breaks=wrongs.no_fence,
        plans=tuple(
            plan
            for number in range(2, 6)
            for plan in _plans(
                Death(
                    point="reply.before",
                    at=number,
                    how="stall",
                    beside=False,
                    undying=True,
                    theirs=Death(point="prepare.before", how="act", act="stop"),
                ),
                protections=("unprotected", "lookup"),
            )
        ),
        caught_as=("unfenced",),
    ),
    "number-by-calls": Control(
        breaks=wrongs.number_by_calls,
        plans=_plans(people=People(turnabout=True, once_more=1.0), twice=True),
        caught_as=("doubled",),
    ),
    "no-digest-check": Control(
        breaks=wrongs.no_digest_check,
        plans=_plans(Death(point="fold_in.after_commit", how="act", act="tamper")),
        caught_as=("other bytes",),
    ),
    "check-then-act": Control(
        breaks=wrongs.check_then_act,
        plans=_plans(Death(point=wrongs.CHECKED, how="act", act="approve")),
        caught_as=("decided twice",),
    ),
    "skip-on-crash": Control(
        breaks=wrongs.skip_on_crash,
        plans=_plans(Death(point="effect.before_send"), protections=("unprotected",) * 2),
        caught_as=("untrue",),
    ),
    "do-nothing": Control(breaks=wrongs.do_nothing, plans=_plans(), caught_as=("lost",)),
    "answer-before-horizon": Control(
        breaks=wrongs.answer_before_horizon,
        plans=_plans(faults=("late",), people=People(too_early=1.0), protections=("unprotected",) * 2),
        caught_as=("too early",),
    ),
    "absent-at-once": Control(
        breaks=wrongs.absent_at_once,
        plans=_plans(faults=("late",), protections=("lookup",) * 2),
        caught_as=("doubled",),
    ),
    "park-without-inbox": Control(
        breaks=wrongs.park_without_inbox,
        plans=_plans(Death(point=wrongs.CHECKED, how="act", act="approve")),
        caught_as=("lost",),
    ),
    "quorum-by-count": Control(
        breaks=wrongs.check_then_act,
        plans=_plans(Death(point=wrongs.CHECKED, how="act", act="approve"), policy="quorum"),
        caught_as=("lost",),
    ),
    "one-proof-for-all": Control(
        breaks=wrongs.one_proof_for_all,
        plans=_plans(faults=("late", "refused"), protections=("idempotent",) * 2),
        caught_as=("untrue", "doubled"),
    ),
    "resend-after-stop": Control(
        breaks=wrongs.resend_after_stop,
        plans=_plans(Death(point="effect.before_send", act="stop"), protections=("idempotent",) * 2),
        caught_as=("unreleased",),
    ),
    "end-kept": Control(breaks=wrongs.keep_the_end, plans=_plans(handed=1), caught_as=("lost",)),
    "stop-above-only": Control(
        breaks=wrongs.stop_above_only,
        plans=_plans(Death(point="prepare.before", how="act", act="stop"), handed=1),
        caught_as=("unreleased",),
    ),
    "plain-pause-flag": Control(
        breaks=wrongs.plain_pause_flag,
        plans=_plans(Death(point=wrongs.CHECKED, how="act", act="pause")),
        caught_as=("unreleased",),
    ),
}


@contextmanager
def broken(name: str) -> Iterator[None]:
    """Build the engine wrongly in this way while the block runs; nothing is broken without a name."""
    with ExitStack() as stack:
        if name:
            CONTROLS[name].breaks(stack)
        yield
