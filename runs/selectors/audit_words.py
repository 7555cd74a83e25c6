"""Lines of the audit trail in words: what was done, to what, and what was before and after. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runs import differences, exact

ACTS: dict[str, str] = {
    "review.approve": "Approved",
    "review.reject": "Rejected",
    "review.ask_back": "Asked the agent back",
    "review.by_hand": "Says it was done by hand",
    "review.keep": "Keeps what was done before",
    "review.undo": "Wants it taken back",
    "review.answer": "Answered the agent's question",
    "review.cannot": "Can't answer the agent's question",
    "review.happened": "Says it happened",
    "review.absent_do": "Says it did not happen; it is done again",
    "review.absent_leave": "Says it did not happen; it is left",
    "review.unknown": "Says it can't be known",
    "review.retry": "Lets the run try again",
    "review.stop": "Ends the run",
    "review.go_on": "Lets the run go on",
    "review.once": "Says it happened once",
    "review.twice": "Says it happened twice",
    "review.not_at_all": "Says it did not happen at all",
    "review.raise": "Raised a limit",
    "review.edited": "Changed the arguments",
    "review.withdrawn": "Took the approval back",
    "review.extended": "Gave it more time",
    "review.expired": "Nobody answered in time",
    "review.escalated": "Put before administrators too",
    "review.broke_glass": "Released it alone, by break-glass",
    "review.tightened": "Stricter terms: the policy changed",
    "review.overtaken": "Closed: the policy changed",
    "review.snoozed": "Put it off",
    "review.woken": "Took it up again",
    "review.handed_over": "Handed it over",
    "run.started": "Started the run",
    "run.redriven": "Went on from a checkpoint",
    "run.forked": "Tried out from a checkpoint",
    "run.separated": "Began separate work",
    "run.undoing": "Began an undo",
    "run.paused": "Paused the run",
    "run.resumed": "Resumed the run",
    "run.stop_asked": "Asked the run to stop",
    "run.woken": "Woke the run",
    "run.succeeded": "The run is done",
    "run.failed": "The run failed",
    "run.cancelled": "The run was stopped",
    "plan.edited": "Changed the plan",
    "budget.raised": "A limit is higher now",
    "budget.set": "Set the limits of a day",
    "effect.undo_asked": "Asked that an effect be taken back",
    "effect.verify_asked": "Asked that an effect be read back",
    "effect.differs": "Read back, an effect differs",
    "occurrence.answered": "What is known of an effect was settled",
    "occurrence.settled": "What is known of an effect was found out",
    "occurrence.contradicted": "Evidence contradicts the record",
    "occurrence.new_key": "An effect got a new key",
    "policy.changed": "Changed the policy",
    "secret.set": "Set a secret",
    "secret.removed": "Removed a secret",
    "secrets.rotated": "Encrypted the secrets anew",
    "mcp.seen": "Saw what an MCP server offers",
    "mcp.accepted": "Accepted a tool of an MCP server",
    "switch.off": "Paused many",
    "switch.on": "Let many go on",
    "database.followed": "The database moved",
    "database.restored": "The database was restored",
    "database.released": "Released the restored database",
    "lineage.sealed": "Sealed it with all its attempts",
    "person.first_administrator": "Became the first administrator",
    "person.signed_in": "Signed in",
    "person.signed_out": "Signed out",
    "person.proved": "Showed again who they are",
    "person.password_changed": "Chose a new password",
    "person.factor_added": "Added a second factor",
    "person.factor_removed": "Removed a second factor",
    "person.codes_made": "Made new recovery codes",
    "session.ended": "Ended sessions",
    "person.added": "Added a person",
    "person.changed": "Changed a person",
    "person.deleted": "Deleted a person",
    "person.link_made": "Made a new link to join",
    "person.joined": "Joined by their link",
    "delegation.made": "Let somebody decide in their place",
    "delegation.ended": "Ended the deciding in their place",
    "scope.set": "Limited what somebody sees",
    "shift.made": "Put on the rota",
    "shift.ended": "Took off the rota",
    "group.added": "Added a group",
    "group.changed": "Changed a group",
    "group.deleted": "Deleted a group",
    "token.created": "Made an API token",
    "token.revoked": "Revoked an API token",
    "delivery.sent_again": "Had a notice sent again",
    "notice.tested": "Tested a notice",
    "endpoint.created": "Made an endpoint",
    "endpoint.rotated": "Changed an endpoint's secret",
    "endpoint.on": "Lets an endpoint be told",
    "endpoint.off": "Lets an endpoint be told no more",
    "slack.code_made": "Asked for a code for Slack",
    "slack.linked": "Linked a Slack account",
    "slack.unlinked": "Ended the link with a Slack account",
    "audit.check_asked": "Asked for a check of the chain",
    "runs.anchored": "The ends of runs' logs came into the chain",
    "refusals.anchored": "Refused attempts came into the chain",
}
"""What each act is called, the frequent ones first."""

TRIED: dict[str, str] = {
    "review.decide": "Decide",
    "review.break_glass": "Release it alone, by break-glass",
    "review.edit": "Change the arguments",
    "review.rehearse": "Try other arguments",
    "review.withdraw": "Take an approval back",
    "review.extend": "Give more time",
    "review.snooze": "Put it off",
    "review.wake": "Take it up again",
    "review.hand_over": "Hand it over",
    "run.start": "Start a run",
    "run.pause": "Pause the run",
    "run.resume": "Resume the run",
    "run.stop": "Stop the run",
    "run.redrive": "Go on from a checkpoint",
    "run.fork": "Try out from a checkpoint",
    "run.take_over": "Take a dry run over",
    "run.separate": "Begin separate work",
    "plan.edit": "Change the plan",
    "effect.undo": "Take an effect back",
    "effect.verify": "Have an effect read back",
    "policy.change": "Change the policy",
    "secret.set": "Set a secret",
    "secret.remove": "Remove a secret",
    "secret.rotate": "Encrypt the secrets anew",
    "mcp.accept": "Accept a tool of an MCP server",
    "budget.set": "Set the limits of a day",
    "switch.throw": "Pause many, or let them go on",
    "lineage.seal": "Seal it with all its attempts",
    "database.release": "Release the restored database",
    "token.create": "Make an API token",
    "token.revoke": "Revoke an API token",
    "delivery.send_again": "Have a notice sent again",
    "notice.test": "Test a notice",
    "endpoint.create": "Make an endpoint",
    "endpoint.rotate": "Change an endpoint's secret",
    "endpoint.switch": "Let an endpoint be told, or no more",
    "slack.code": "Ask for a code for Slack",
    "slack.link": "Link a Slack account",
    "slack.unlink": "End the link with a Slack account",
    "slack.request": "A request in Slack's name",
    "audit.check": "Check the chain",
    "person.invite": "Invite a person",
    "person.link": "Make a new link to join",
    "person.reset": "Reset somebody's sign-in",
    "person.join": "Join by a link",
    "person.roles": "Change somebody's roles",
    "person.switch": "Switch a person off or on",
    "scope.set": "Limit what somebody sees",
    "group.make": "Make a group",
    "delegation.make": "Hand deciding to somebody",
    "delegation.end": "End deciding in somebody's place",
    "shift.make": "Put somebody on the rota",
    "shift.end": "Take a shift off the rota",
    "person.sign_in": "Sign in",
    "person.prove": "Show who they are",
    "session.end": "End a session",
    "session.end_others": "End all other sessions",
}
"""What was tried, of what was refused; `page.<name>` is a page that turned somebody away."""

CODES: dict[str, str] = {
    "not_yours": "Not theirs",
    "no_group": "In no group",
    "not_there": "Not there, or not to be seen",
    "invalid": "Didn't fit",
    "stale": "Too late",
    "forged": "Form from elsewhere",
    "wrong": "Wrong name, password or code",
    "too_many": "Too many tries",
    "unproven": "Asked who they are",
    "unknown": "Nobody known here",
    "more": "More than are listed",
}
CHANNELS: dict[str, str] = {
    "page": "page",
    "shell": "command line",
    "api": "API",
    "slack": "Slack",
    "clock": "clock",
    "engine": "engine",
}
_LABELS: dict[str, str] = {
    "reason": "Reason",
    "revision": "Revision",
    "digest": "Digest",
    "receipt": "Receipt",
    "amount": "Amount",
    "value": "Value",
    "version": "Version",
    "to": "To",
    "note": "Note",
    "until": "Until",
    "input": "Input",
    "agent": "Agent",
    "switch": "What",
    "words": "Fields",
    "shown": "What they showed",
    "factor": "Factor",
    "from": "From",
}
_HIDDEN = frozenset(
    {"before", "after", "review", "kind", "answer", "epoch", "root", "path", "mode", "position", "checkpoint",
     "overtaken", "earlier", "first", "last", "supersedes", "since"}
)  # fmt: skip
_SHORT = 400


@dataclass(frozen=True, kw_only=True)
class Line:
    """One fact of a line."""

    label: str
    value: str
    digest: bool = False


@dataclass(frozen=True, kw_only=True)
class Change:
    """One thing that is otherwise now."""

    place: str
    before: str
    after: str


def act(name: str) -> str:
    """Return what was done."""
    return ACTS.get(name) or name.replace(".", ": ").replace("_", " ")


def tried(name: str) -> str:
    """Return what somebody wanted to do."""
    page = name.partition("page.")[2]
    return TRIED.get(name) or (f"The page “{page}”" if page else name.replace(".", ": ").replace("_", " "))


def facts(content: Mapping[str, Any]) -> tuple[Line, ...]:
    """Return what the line says beside before and after, in its own order; long texts cut, since all of it follows."""
    return tuple(
        Line(
            label=_LABELS.get(name, name.replace("_", " ").capitalize()),
            value=_anchored(value) if name == "runs" else _text(value),
            digest=_is_digest(value),
        )
        for name, value in content.items()
        if name not in _HIDDEN and value not in ("", None, [], {})
    )


def changes(content: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return what differs between before and after, where the line says it."""
    if "before" not in content and "after" not in content:
        return ()
    before = content.get("before")
    other = content.get("version") if isinstance(before, int) else content.get("digest")  # like beside like
    return tuple(_changes(before, content.get("after", other)))


def _changes(before: Any, after: Any) -> Iterator[Change]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for found in differences.between(before, after):
            parts = [_text(exact.stored(side)) if side else "" for side in (found.before, found.after)]
            yield Change(place=found.place, before=parts[0], after=parts[1])
    elif before != after:
        yield Change(place="", before=_text(before), after=_text(after))


def _anchored(value: Any) -> str:
    """Return runs with how far their logs are vouched for, in words; each is [run, line, digest]."""
    if not isinstance(value, list) or not all(isinstance(one, list) and len(one) == 3 for one in value):
        return _text(value)
    return _text(", ".join(f"run {run} up to line {line}" for run, line, _ in value))


def _is_digest(value: Any) -> bool:
    return exact.is_digest(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else exact.canonical(value, limit=None)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"
