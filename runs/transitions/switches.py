"""What narrows, for the whole installation, what may run: the policy, and what is switched off.

Each raises the gate epoch and commits, then raises the inbox number of every run that is being worked on, and only
then returns: after the acknowledgement no effect starts that the older rules would have let through. A switch changes
no run's status; claim and gate read it.
"""

from __future__ import annotations

from typing import Any

from runs import exact, lifecycle, models, rights
from runs.policies import parsing
from runs.tools import registry
from runs.transitions import attempts, audit, clock_time, inbox, judging, proofs, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale

ALL, AGENT, TOOL = "all", "agent", "tool"


@attempts.noted("policy.change", "policy")
def set_policy(
    document: dict[str, Any], *, reason: str, by: Actor, base: int | None = None
) -> models.PolicyVersion:
    """Return the new policy version, in force when this returns.

    `base` is the number of the version that was changed. Refuses NotYours, Invalid for bad rules and for rules that
    are in force already, and Stale where another version than `base` is in force by now.
    """
    if by.user is None or not rights.may(by.user.roles(), rights.Act.POLICIES):
        raise NotYours("Only an administrator may change the policy.")
    reason = texts.typed(reason, "reason")
    if not texts.says(reason):
        raise Invalid("Say why the policy changes; the reason stays in its history.")
    try:
        parsing.parse(document)
    except parsing.BadRules as error:
        raise Invalid(str(error)) from error
    proofs.check(by, clock_time.now())
    with committing("policy"):
        installation = models.Installation.objects.select_for_update(no_key=True).get(pk=1)
        assert installation.policy_version_id is not None
        current = models.PolicyVersion.objects.select_related("policy", "created_by").get(
            pk=installation.policy_version_id
        )
        if base is not None and base != current.number:
            raise Stale(
                f"{_author(current)} put version {current.number} in force meanwhile: {current.reason}"
            )
        if base is not None and exact.digest_of(document) == current.digest:
            raise Invalid("Nothing is changed: these are the rules in force.")
        newest = current.policy.versions.order_by("-number").values_list("number", flat=True).first() or 0
        version = models.PolicyVersion.objects.create(
            policy=current.policy,
            number=newest + 1,
            rules=document,
            digest=exact.digest_of(document),
            reason=reason,
            created_by=by.user,
        )
        installation.policy_version = version
        installation.gate_epoch += 1
        installation.save(update_fields=["policy_version", "gate_epoch"])
        content = {"before": current.number, "version": version.number, "digest": version.digest,
                   "reason": reason, "epoch": installation.gate_epoch}  # fmt: skip
        audit.append("policy.changed", actor=by, subject=f"policy {current.policy.name}", content=content)
    interrupt("policy", by)
    judging.sweep()  # the clock does the rest
    return version


def _author(version: models.PolicyVersion) -> str:
    return version.created_by.display() if version.created_by is not None else "ckptsite"


@attempts.noted("switch.throw", "all")
def pause_all(paused: bool, *, by: Actor, reason: str = "") -> None:
    """Stop every start of an effect in the installation, or let them go on.

    Refuses NotYours, and Invalid for a pause without a reason; so do the two below.
    """
    _throw(ALL, on=paused, reason=reason, by=by)


@attempts.noted("switch.throw", "agent:{}")
def pause_agent(name: str, paused: bool, *, by: Actor, reason: str = "") -> None:
    """Let no run of this agent start anything, or let them go on. Refuses NotYours, and Invalid for no such agent."""
    if not models.Agent.objects.filter(name=name).exists():
        raise Invalid(f"There is no agent named {name!r}.")
    _throw(f"{AGENT}:{name}", on=paused, reason=reason, by=by)


@attempts.noted("switch.throw", "tool:{}")
def pause_tool(name: str, paused: bool, *, by: Actor, reason: str = "") -> None:
    """Let no run start this tool, or let them again. Refuses NotYours, and Invalid for no such tool."""
    if paused and name not in {tool.name for tool in registry.all()}:
        raise Invalid(f"There is no tool named {name!r}.")
    _throw(f"{TOOL}:{name}", on=paused, reason=reason, by=by)


@attempts.noted("switch.throw", "{}")
def throw(what: str, paused: bool, *, by: Actor, reason: str = "") -> None:
    """Pause or let go on what a form names: "all", "agent:<name>" or "tool:<name>". Refuses as these do."""
    kind, _, name = what.partition(":")
    match kind:
        case "all":
            pause_all(paused, by=by, reason=reason)
        case "agent":
            pause_agent(name, paused, by=by, reason=reason)
        case "tool":
            pause_tool(name, paused, by=by, reason=reason)
        case _:
            raise Invalid("Choose what is paused.")


def _throw(what: str, *, on: bool, reason: str, by: Actor) -> None:
    _entitled(by)
    assert by.user is not None
    reason = texts.typed(reason, "reason")
    if on and not texts.says(reason):
        raise Invalid("Say why it is paused; everybody reads it until it goes on.")
    with committing("switch"):
        installation = models.Installation.objects.select_for_update(no_key=True).get(pk=1)
        if (what in installation.switches) != on:
            kept = {key: value for key, value in installation.switches.items() if key != what}
            if on:
                since = clock_time.now().isoformat()
                kept[what] = {"by": by.user.get_username(), "reason": reason, "at": since}
            installation.switches = kept
            installation.paused_all = ALL in kept
            installation.gate_epoch += 1
            installation.save(update_fields=["switches", "paused_all", "gate_epoch"])
            content = {"switch": what, "reason": reason, "epoch": installation.gate_epoch}
            audit.append("switch.off" if on else "switch.on", actor=by, subject=what, content=content)
    if on:
        interrupt("switch", by)  # also when it stood already: whoever set it may have died before this
    else:
        wake()


def _entitled(by: Actor) -> None:
    if by.user is None or not rights.may(by.user.roles(), rights.Act.SWITCH):
        raise NotYours("Only an administrator may change this.")


def interrupt(why: str, by: Actor) -> None:
    """Make every worker read again before its next intent; about as many runs as there are worker slots."""
    for run_id in (
        models.Run.objects.filter(status=lifecycle.Run.RUNNING).order_by("id").values_list("id", flat=True)
    ):
        with committing("interrupt"):
            run = inbox.lock(run_id)
            if run.status == lifecycle.Run.RUNNING:
                inbox.leave(run, models.Fact.Kind.WAKE, {"reason": why}, by=by.user, mover="P")


def wake() -> None:
    """Let the runs that slept under a switch be looked at now; those that sleep under another lie down again."""
    with committing("switch_wake"):
        sleeping = models.Run.objects.filter(status=lifecycle.Run.QUEUED, reason="switch")
        sleeping.update(wake_at=clock_time.now())
