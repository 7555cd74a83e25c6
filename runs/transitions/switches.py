"""What narrows, for the whole installation, what may run: policy and pause-all.

Each raises the gate epoch and commits, then raises the inbox number of every run that is being worked on, and only
then returns: after the acknowledgement no effect starts that the older rules would have let through.
"""

from __future__ import annotations

from typing import Any

from runs import exact, lifecycle, models, rights
from runs.policies import parsing
from runs.transitions import audit, inbox
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours


def set_policy(document: dict[str, Any], *, reason: str, by: Actor) -> models.PolicyVersion:
    """Return the new policy version, in force when this returns. Refuses NotYours, and Invalid for bad rules."""
    _entitled(by)
    if not reason.strip():
        raise Invalid("Say why the policy changes; the reason stays in its history.")
    try:
        parsing.parse(document)
    except parsing.BadRules as error:
        raise Invalid(str(error)) from error
    with committing("policy"):
        installation = models.Installation.objects.select_for_update().get(pk=1)
        assert installation.policy_version_id is not None
        current = models.PolicyVersion.objects.select_related("policy").get(pk=installation.policy_version_id)
        newest = current.policy.versions.order_by("-number").values_list("number", flat=True).first() or 0
        version = models.PolicyVersion.objects.create(
            policy=current.policy,
            number=newest + 1,
            rules=document,
            digest=exact.digest_of(document),
            reason=reason.strip(),
            created_by=by.user,
        )
        installation.policy_version = version
        installation.gate_epoch += 1
        installation.save(update_fields=["policy_version", "gate_epoch"])
        content = {"version": version.number, "digest": version.digest, "epoch": installation.gate_epoch}
        audit.append("policy.changed", actor=by, subject=f"policy {current.policy.name}", content=content)
    _interrupt("policy", by)
    return version


def pause_all(paused: bool, *, by: Actor) -> None:
    """Stop every start of an effect in the installation, or let them go on. Refuses NotYours."""
    _entitled(by)
    with committing("switch"):
        installation = models.Installation.objects.select_for_update().get(pk=1)
        installation.paused_all = paused
        installation.gate_epoch += 1
        installation.save(update_fields=["paused_all", "gate_epoch"])
        content = {"paused": paused, "epoch": installation.gate_epoch}
        audit.append("installation.paused" if paused else "installation.resumed", actor=by, subject="installation",
                     content=content)  # fmt: skip
    _interrupt("switch", by)


def _entitled(by: Actor) -> None:
    if by.user is None or not rights.may(by.user.roles(), rights.Act.SWITCH):
        raise NotYours("Only an administrator may change this.")


def _interrupt(why: str, by: Actor) -> None:
    """Make every worker read again before its next intent; about as many runs as there are worker slots."""
    for run_id in (
        models.Run.objects.filter(status=lifecycle.Run.RUNNING).order_by("id").values_list("id", flat=True)
    ):
        with committing("interrupt"):
            run = inbox.lock(run_id)
            if run.status == lifecycle.Run.RUNNING:
                inbox.leave(run, models.Fact.Kind.WAKE, {"reason": why}, by=by.user, mover="P")
