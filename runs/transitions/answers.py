"""What may be answered to which question: the verbs, who may say them, and whether an answer fits what was asked."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from django.db.models import Q

from runs import exact, jsonschemas, lifecycle, models, rights
from runs.models import reversals, scopes, team
from runs.tools import registry
from runs.transitions import budgets, clock_time, failures, pins, proofs, retention, texts
from runs.transitions.actor import Actor
from runs.transitions.refusals import Invalid, NotYours, Stale

APPROVE, REJECT, ASK_BACK, BY_HAND = "approve", "reject", "ask_back", "by_hand"
KEEP, UNDO = "keep", "undo"
ANSWER, CANNOT = "answer", "cannot"
HAPPENED, ABSENT_DO, ABSENT_LEAVE, UNKNOWN = "happened", "absent_do", "absent_leave", "unknown"
RETRY, STOP, GO_ON = "retry", "stop", "go_on"
ONCE, TWICE, NOT_AT_ALL = "once", "twice", "not_at_all"
ANSWERS: dict[str, tuple[str, ...]] = {
    lifecycle.ReviewKind.ACTION: (APPROVE, REJECT, ASK_BACK, BY_HAND, KEEP, UNDO),
    lifecycle.ReviewKind.PLAN: (APPROVE, REJECT),
    lifecycle.ReviewKind.QUESTION: (ANSWER, CANNOT),
    lifecycle.ReviewKind.IN_DOUBT: (HAPPENED, ABSENT_DO, ABSENT_LEAVE, UNKNOWN),
    lifecycle.ReviewKind.FAILURE: (RETRY, STOP, GO_ON, ONCE, TWICE, NOT_AT_ALL),
    lifecycle.ReviewKind.BUDGET: (budgets.RAISE, STOP),
}
FINAL = 3
RELEASES = frozenset({APPROVE, ABSENT_DO})
SLACK = "slack"
OVERTAKEN = {
    "denied": "it is forbidden now.",
    "again": "what was approved so far doesn't count any more, and it is asked again.",
}
"""What a stricter policy has made of an open question that it closed."""
CONTRADICTED = frozenset({ONCE, TWICE, NOT_AT_ALL})


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a person answered, and exactly what they saw when they did. `token` is the form's, single use."""

    verdict: str
    revision: int
    digest: str
    token: str
    reason: str = ""
    retype: str = ""
    receipt: str = ""
    amount: int | None = None  # by how much a limit is raised
    which: int | None = None  # the occurrence that it is, where several were done before
    value: str | None = None  # canonical JSON text of what an agent's question is answered with
    evidence_number: int = 0
    tightened: int | None = None  # how often its terms had become stricter; None where that was not shown
    rendered_at: datetime.datetime | None = None
    stop: bool = False  # with a rejection: end the run too


def contradicted(review: models.Review) -> models.Occurrence:
    """Return the occurrence that evidence speaks against, locked, of a question that is about one."""
    rows = models.Occurrence.objects.select_for_update(no_key=True, of=("self",)).select_related("owner")
    return rows.get(pk=review.content["contradiction"])


def offered(review: models.Review) -> tuple[str, ...]:
    """Return the answers that this question takes."""
    known = ANSWERS.get(review.kind, ())
    if review.kind == lifecycle.ReviewKind.FAILURE:
        if "contradiction" in (review.content or {}):
            return (ONCE, TWICE, NOT_AT_ALL)
        if reversals.TAKEN_BACK in (review.content or {}):
            return (STOP,)
        return (GO_ON, STOP) if pins.asked(review) else (RETRY, STOP)
    if review.kind == lifecycle.ReviewKind.ACTION:
        return tuple(verb for verb in known if verb not in _pointless(review))
    return known


def _pointless(review: models.Review) -> frozenset[str]:
    """Return the answers that this question about an action doesn't take."""
    action = review.action
    if action is not None and action.undo_of_id is not None:  # no agent proposed it, so none is asked
        return frozenset({ASK_BACK, KEEP, UNDO})
    if not done_before(review):
        return frozenset({KEEP, UNDO})
    return frozenset() if action is not None and registry.undo_of(action.tool) else frozenset({UNDO})


def done_before(review: models.Review) -> tuple[int, ...]:
    """Return the occurrences that this may be: of the same identity with other arguments, or in other words."""
    content = review.content or {}
    return tuple(item["occurrence"] for item in (*content.get("beside", ()), *content.get("alike", ())))


def check_right(review: models.Review, answer: Answer, user: models.User) -> models.User | None:
    """Return in whose place the person gives this answer, None: in their own. Refuse (NotYours) who may not give it."""
    roles = user.roles()
    if user.limit() is not None and not scopes.within(user, [review.run.agent_version.agent_id]):
        raise NotYours("This is about an agent that your account isn't for.")
    if review.kind == lifecycle.ReviewKind.FAILURE:
        if not rights.may(roles, rights.Act.ANSWER_FAILURE):
            raise NotYours("You may not answer this; an operator can.")
        return None
    if review.kind == lifecycle.ReviewKind.BUDGET:
        budgets.check_right(user)
        return None
    principal = None
    if not rights.may_decide(roles, review.groups):
        principal = _principal(review, user, roles)
        if principal is None:
            raise NotYours(f"You may not decide this; {' or '.join(review.groups)} can.")
    both = [user] if principal is None else [user, principal]
    if review.votes and review.status == lifecycle.Review.OPEN and _voted(review, both):
        raise NotYours("You have decided. It needs somebody else's decision too.")
    if review.separation and answer.verdict == APPROVE:
        for person in both:
            why = review.why_apart(person.pk)
            if why and others_may(user, review.groups):
                who = "" if person == user else f"You stand in for {person.display()}, and of them it holds: "
                raise NotYours(f"{who}{why}, so somebody else has to release this action.")
    return principal


def _principal(review: models.Review, user: models.User, roles: frozenset[str]) -> models.User | None:
    """Return the one in whose place this person may decide it: a delegation adds questions, never a right to decide."""
    if not rights.may(roles, rights.Act.DECIDE):
        return None
    known = team.principals(user)
    return next((one for one in known if rights.may_decide(one.roles(), review.groups)), None)


def may_decide(review: models.Review, user: models.User) -> bool:
    """Return whether the person may decide this, in their own name or in somebody's place."""
    roles = user.roles()
    return rights.may_decide(roles, review.groups) or _principal(review, user, roles) is not None


def _voted(review: models.Review, people: list[models.User]) -> bool:
    """Return whether one of them has decided it at this revision, or somebody in their place."""
    given = review.decisions.filter(revision=review.revision)
    return given.filter(Q(person__in=people) | Q(on_behalf_of__in=people)).exists()


def check_door(review: models.Review, answer: Answer, by: Actor) -> None:
    """Refuse (NotYours) what only a page takes: the release of something final needs somebody who has signed in."""
    if (by.token is not None or by.channel != "page") and review.tier >= FINAL and answer.verdict in RELEASES:
        what = "a token" if by.token is not None else "a message"
        raise NotYours(
            f"At tier 3 only somebody who has signed in releases it, on its page; {what} can reject it."
        )


def others_may(user: models.User, groups: list[str]) -> bool:
    """Return whether anybody else could decide: without a second person, separation can't be kept and is off."""
    able = Q(groups__name__in=[*groups, rights.ADMIN]) | Q(is_superuser=True)
    return models.User.objects.filter(able, is_active=True).exclude(pk=user.pk).exists()


def being_prepared(review: models.Review) -> bool:
    """Return whether its preview is being worked out anew after an edit; until then nobody can decide."""
    action = review.action
    return (
        review.kind == lifecycle.ReviewKind.ACTION
        and action is not None
        and review.status == lifecycle.Review.OPEN
        and review.digest != action.approval_digest
    )


def check_fresh(review: models.Review, answer: Answer, now: datetime.datetime) -> None:
    """Refuse (Stale) an answer to what is no longer asked, or no longer so."""
    if review.status != lifecycle.Review.OPEN:
        raise Stale(winner(review))
    if review.expires_at is not None and review.expires_at <= now:
        raise Stale("This question has expired; nothing was decided.")
    if answer.tightened not in {None, review.tightened}:
        raise Stale("The policy was changed while you looked at this; read on which terms it is asked now.")
    if review.revision != answer.revision or review.digest != answer.digest:
        raise Stale("This has changed since you opened it; look at it again before you decide.")
    if being_prepared(review):
        raise Stale("This was edited; what will happen is being worked out, and then it can be decided.")
    # A question in doubt may stay open when evidence about one of several attempts arrives; its action counts it.
    doubted = review.action if review.kind == lifecycle.ReviewKind.IN_DOUBT else None
    known = doubted.evidence_number if doubted is not None else review.evidence_number
    if known != answer.evidence_number:
        raise Stale("New evidence has arrived since you opened this; look at it again before you decide.")


def check_fit(
    review: models.Review, run: models.Run, answer: Answer, now: datetime.datetime, *, by: Actor
) -> None:
    """Refuse (Invalid) an answer that doesn't fit the question, and (Stale) one that comes too late.

    Refuses (Unproven) last of all a decision on something final by who hasn't shown lately who they are: nobody is
    asked for a password for what would be refused anyway.
    """
    verdict = answer.verdict
    if verdict not in offered(review):
        raise Invalid(failures.why_not(review) or f"{verdict!r} is no answer to this question.")
    if verdict == ANSWER or answer.value is not None:
        _check_value(review, answer)
    if review.kind == lifecycle.ReviewKind.BUDGET:
        budgets.check_fit(run, verdict=verdict, amount=answer.amount, reason=answer.reason)
    if answer.stop and verdict != REJECT:
        raise Invalid("Only a rejection can stop the run too.")
    _check_said(review, answer)
    wanted = (review.content or {}).get("retype")
    if verdict == APPROVE and wanted and answer.retype != str(wanted["value"]).strip():
        raise Invalid(f"Retype the {wanted['field']} exactly as it is shown: what you typed differs.")
    start = now + clock_time.seconds(review.undo_seconds)
    if verdict == APPROVE and review.expires_at is not None and start >= review.expires_at:
        raise Stale("This expires before it could start; extend it first.")
    if verdict in {ABSENT_DO, ABSENT_LEAVE}:
        _check_horizon(review, answer)
    if verdict == ABSENT_DO and run.stop_at is not None:
        raise Invalid("The run is being stopped, so it can't be done again; choose 'leave it'.")
    if verdict in {KEEP, UNDO} and answer.which not in {*done_before(review), None}:
        raise Invalid("That is none of the effects that are shown.")
    if verdict in {KEEP, UNDO} and answer.which is None and len(done_before(review)) > 1:
        raise Invalid("Say which of them it is.")
    if verdict == NOT_AT_ALL:
        _check_unknown(review)
    if verdict == RETRY and (run.superseded_by_id is not None or run.status != lifecycle.Run.FAILED):
        raise Stale("This run can't be retried any more.")
    if verdict in {RETRY, GO_ON}:
        retention.refuse_sealed(run)
    if review.tier >= FINAL:
        proofs.check(by, now)


def _check_said(review: models.Review, answer: Answer) -> None:
    """Refuse (Invalid) an answer without the words that it needs."""
    said = texts.says(answer.reason)
    if answer.verdict == REJECT and not said:
        raise Invalid("Say why you reject it; the agent and the auditors read the reason.")
    if answer.verdict == ASK_BACK and not said:
        raise Invalid("Write your question; the agent reads it and proposes again.")
    if answer.verdict == CANNOT and not said:
        raise Invalid("Say why you can't answer; the agent reads it.")
    if answer.verdict == APPROVE and done_before(review) and not said:
        raise Invalid("Say why this is done too; something that it may be was done before.")
    if answer.verdict in {KEEP, UNDO, BY_HAND, *CONTRADICTED} and not said:
        raise Invalid("Give a reason; it stays in the record.")
    if review.reason_required and not said:
        raise Invalid("Give a reason; at this tier every decision needs one.")
    if answer.verdict == HAPPENED and not answer.receipt:
        raise Invalid("Say how you know that it happened: a reference, a message id, what you saw.")
    if answer.verdict == BY_HAND and not answer.receipt:
        raise Invalid("Say what proves that you did it: a reference, a message id, a number.")


def _check_value(review: models.Review, answer: Answer) -> None:
    """An answer is a value that fits the schema that it was asked with."""
    if answer.verdict != ANSWER or answer.value is None:
        raise Invalid("A question is answered with a value, and nothing else is.")
    try:
        value = exact.parse(answer.value)
        exact.canonical([[value]])  # it is kept two levels down
        problems = jsonschemas.problems(review.content["schema"], value)
    except (exact.NotExact, jsonschemas.BadSchema) as error:
        raise Invalid(str(error)) from error
    if problems:
        where = ".".join(str(part) for part in problems[0].path)
        raise Invalid(f"{where}: {problems[0].sentence}" if where else problems[0].sentence)


def _check_horizon(review: models.Review, answer: Answer) -> None:
    """'It did not happen' counts only from a look after the horizon: before it the request may still arrive."""
    occurrence = review.action.occurrence if review.action else None
    if occurrence is None or answer.rendered_at is None or answer.rendered_at < occurrence.horizon:
        raise Invalid(
            "The request may still arrive, so nobody can say yet that it did not happen; look again later."
        )


def _check_unknown(review: models.Review) -> None:
    if "read_back" in review.content:  # nobody has brought a proof; somebody looked, and it was otherwise
        return
    if contradicted(review).state != lifecycle.Occurrence.UNKNOWN:
        raise Invalid("There is a proof that it happened; say whether once or twice.")


def winner(review: models.Review) -> str:
    """Return one sentence that says who decided what, for the one who came second."""
    judged = (review.content or {}).get("judged", {})
    if review.status == lifecycle.Review.SUPERSEDED and "ends" in judged:
        return f"The policy was changed while this was open, so {OVERTAKEN[judged['ends']]} Nothing you typed was used."
    last = review.decisions.select_related("person").order_by("-id").first()
    if last is None or review.status in {
        lifecycle.Review.SETTLED,
        lifecycle.Review.SUPERSEDED,
        lifecycle.Review.EXPIRED,
    }:
        return f"This question is closed ({review.status}); nothing you typed was used."
    verdict = {APPROVE: "approved", REJECT: "rejected"}.get(last.verdict, "answered")
    return f"{last.person.display()} {verdict} this first; nothing you typed was used."
