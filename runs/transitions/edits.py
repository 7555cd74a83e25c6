"""A person's edit of what will run: the next revision of the same question, decided anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runs import exact, hints, lifecycle, models
from runs.models import cards
from runs.policies import parsing, rules
from runs.tools import contract, problems, registry
from runs.transitions import (
    answers,
    attempts,
    audit,
    clock_time,
    considered,
    decisions,
    inbox,
    judging,
    secret_names,
    texts,
)
from runs.transitions.actor import Actor
from runs.transitions.answers import Answer
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale


@dataclass(frozen=True, kw_only=True)
class Edit:
    """Other arguments for what is asked, why, and exactly what the person saw. `token` is the form's, single use."""

    arguments: Any
    reason: str
    revision: int
    digest: str
    token: str


@dataclass(frozen=True, kw_only=True)
class Settled:
    """The new arguments as they will be stored, and the identity that comes from them."""

    arguments: Any
    digest: str
    identity: Any


@attempts.noted("review.edit", "review {}")
def edit(review_id: int, given: Edit, *, by: Actor) -> models.Review:
    """Return the question at its next revision: no votes, and undecidable until a worker has previewed it.

    The same token again returns the question as it is. Refuses NotYours without the right to decide, Invalid where
    the arguments don't fit the tool, change nothing, or are forbidden by policy, and Stale when the question is
    closed, at another revision, or about something that was sent before.
    """
    user = by.user
    assert user is not None
    token, reason = texts.token(given.token), texts.typed(given.reason, "reason")
    run_id = judging.run_of(review_id)
    with committing("edit"):
        run = inbox.lock(run_id)
        review = decisions.locked([review_id])[review_id]
        if _repeated(run, user, token):
            return review
        if not answers.may_decide(review, user):
            raise NotYours(f"You may not change this; {' or '.join(review.groups)} can.")
        seen = Answer(verdict="edit", revision=given.revision, digest=given.digest, token=token)
        answers.check_fresh(review, seen, clock_time.now())
        action = editable(review)
        if not texts.says(reason):
            raise Invalid("Say why you change it; the agent and the auditors read the reason.")
        new, shown = settle(action, given.arguments), cards.digest(review)
        if new.digest == action.digest:
            raise Invalid("Nothing is changed: these are the arguments as they stand.")
        _ask_policy(run, action, new)
        review.revision += 1
        review.votes, review.answer = 0, ""
        review.digest = exact.link(action.pk, review.revision, new.digest, "edited")
        review.save(update_fields=["revision", "votes", "answer", "digest"])
        content = {"review": review.pk, "revision": review.revision, "digest": new.digest, "reason": reason}
        inbox.leave(
            run,
            models.Fact.Kind.EDITED,
            {**content, "arguments": new.arguments, "identity": new.identity, "token": token},
            by=user,
            mover="P",
        )
        audit.append(
            "review.edited",
            actor=by,
            run=run,
            subject=f"review {review.pk}",
            content={**content, "before": action.digest},
            seen=shown,
        )
        hints.changed(run.pk, inbox=True)
        return review


def _repeated(run: models.Run, user: models.User, token: str) -> bool:
    """Return whether this form has been taken before."""
    left = models.Fact.objects.filter(run=run, kind=models.Fact.Kind.EDITED, by=user)
    return any(fact.content["token"] == token for fact in left.order_by("-number")[:20])


def editable(review: models.Review) -> models.Action:
    """Return the action whose arguments can be changed; refuse (Invalid, Stale) where there is none."""
    action = review.action
    if review.kind != lifecycle.ReviewKind.ACTION or action is None:
        raise Invalid("There are no arguments to change in this question.")
    if action.undo_of_id is not None:
        raise Invalid("An undo takes back exactly what was done, so there is nothing to change in it.")
    if action.attempt:
        raise Stale(
            "This was sent before, so only the same may be sent again; reject it, and the agent can propose another."
        )
    return action


def settle(action: models.Action, arguments: Any) -> Settled:
    """Return the arguments as the tool settles them; refuse (Invalid) with its sentence what doesn't fit."""
    try:
        tool = registry.get(action.tool)
        text = tool.settled(arguments)
        identity = exact.stored(exact.canonical(tool.identity_of(tool.parse(exact.stored(text)))))
    except (registry.UnknownTool, contract.BadArguments, exact.NotExact) as error:
        raise Invalid(str(error)) from error
    if refusal := problems.locked(tool.schema(), action.arguments(), exact.stored(text)):
        raise Invalid(refusal)
    secret_names.check(exact.stored(text), run=action.run, tool=action.tool)
    if tool.contract() != action.contract:
        raise Stale("The tool has changed since this was proposed, so it can't run any more.")
    return Settled(arguments=exact.stored(text), digest=exact.digest(text), identity=identity)


def _ask_policy(run: models.Run, action: models.Action, settled: Settled) -> None:
    """Refuse (Invalid) what policy forbids. Anything else is asked: a person's revision is never simply allowed."""
    version = models.Installation.objects.select_related("policy_version").get(pk=1).policy_version
    about = considered.Considered(
        run,
        tool=action.tool,
        arguments=lambda: settled.arguments,
        identity=exact.digest_of(settled.identity),
        duplicate=action.duplicate_of_id is not None,
    )
    facts = considered.facts(run, registry.get(action.tool), agent=run.agent_version.agent.name)
    found = rules.evaluate(parsing.parse(version.rules) if version is not None else (), facts, about)
    if found.verdict == rules.DENY:
        raise Invalid(f"The policy rule “{found.rule}” forbids this, however it is changed.")
