"""Proposing an undo in a run's log: what a person asked for, or a plan that failed, as an action like any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runs import lifecycle, models
from runs.models import paths
from runs.providers.contract import FINISH
from runs.transitions import audit
from runs.transitions.actor import ENGINE
from runs.transitions.steps import reply
from runs.transitions.steps._statement import Claim, Work, fenced


@dataclass(frozen=True, kw_only=True)
class Checked:
    """An undo, checked as a call of a reply is: with the verdict of this policy version."""

    call: reply.Proposed
    policy_version: int | None


Check = Callable[[models.Run, Mapping[str, Any]], Checked]
"""Checks what was asked for: the occurrence `undo_of`, `by` whom, the `reason`, and `first` where it has to succeed."""


def asked(occurrence: int, *, by: str, reason: str, first: bool = False) -> dict[str, Any]:
    """Return what a person asked for, as the log tells it."""
    return {"undo_of": occurrence, "by": by, "reason": reason, "first": first}


def propose(work: Work, checked: Checked) -> None:
    """Append the call, which no reply holds, and propose it. Its action's first revision is a person's."""
    call_id = (work.run.position + 1, 0)  # the line that follows
    content = {"call": list(call_id), **reply.described(checked.call)}
    work.log.append(lifecycle.EntryKind.CALL, content)
    reply.propose(work, call_id, checked.call, checked.policy_version)


def compensate(claim: Claim, checked: Checked, *, seen: int) -> None:
    """Propose the undo that a failed plan asks for. Refuses LostAuthority, and Changed where something is new."""
    with fenced(claim, "compensate", seen=seen) as work:
        propose(work, checked)
        wanted = dict(checked.call.asked or {})
        audit.append(
            "effect.undo_asked",
            actor=ENGINE,
            run=work.run,
            subject=f"occurrence {wanted['undo_of']}",
            content={"occurrence": wanted["undo_of"], "reason": wanted["reason"]},
        )


def again(work: Work, check: Check) -> None:
    """Propose anew what had to succeed first and did not, and what was to end the run after it."""
    own = models.Entry.objects.filter(
        run=work.run, kind=lifecycle.EntryKind.CALL, position__gt=paths.cut(work.run)
    )
    lines = [line for line in own.order_by("position") if line.content["call"][0] == line.position]
    replaced = [line.content["instead"] for line in lines if "instead" in line.content]
    ends = [line for line in lines if line.content["tool"] == FINISH]
    for line in lines:
        content = line.content
        if content.get("first") and content["call"] not in replaced and not _succeeded(work, content["call"]):
            wanted = asked(content["undo_of"], by=content["by"], reason=content["reason"], first=True)
            propose(work, check(work.run, wanted | {"instead": content["call"]}))
    for line in ends[-1:]:
        end(work, line.content["arguments"])


def end(work: Work, arguments: Mapping[str, Any]) -> None:
    """Append the call that ends the run, as succeeded, once every other one is closed."""
    call = reply.Proposed(tool=FINISH, arguments=dict(arguments), step=None, label="", effect="control")
    content = {"call": [work.run.position + 1, 0], **reply.described(call)}
    work.log.append(lifecycle.EntryKind.CALL, content)


def _succeeded(work: Work, call: list[int]) -> bool:
    done = (lifecycle.Action.SUCCEEDED, lifecycle.Action.ABSORBED)
    rows = models.Action.objects.filter(run=work.run, reply_position=call[0], call_index=call[1])
    return rows.filter(status__in=done).exists()
