"""What somebody does in Slack, carried out by the transitions that the pages use, and answered in words."""

from __future__ import annotations

from dataclasses import dataclass

from runs import exact, models
from runs.models import cards
from runs.transitions import answers, attempts, decisions, slack_links
from runs.transitions.actor import Actor
from runs.transitions.refusals import Refused, Stale

HELP = "Write: /ckptsite link CODE. Your code is on the page Settings, Notifications."


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What a button carries: exactly what was shown when it was pressed."""

    review: int
    revision: int
    digest: str
    evidence: int
    card: str

    @classmethod
    def read(cls, value: str) -> Shown | None:
        """Return it, None for what no message of ours holds."""
        try:
            said = exact.parse(value, limit=2000)
            found = cls(**said)
        except (exact.NotExact, TypeError):
            return None
        numbers = (found.review, found.revision, found.evidence)
        fits = all(type(one) is int and 0 <= one < 2**63 for one in numbers)
        return found if fits and exact.is_digest(found.digest) and exact.is_digest(found.card) else None


def decide(value: str, verdict: str, *, reason: str, token: str, by: Actor) -> tuple[str, bool]:
    """Return the answer in words, and whether the buttons have to go: the question is decided, now or before.

    The same press again decides nothing more, and says the same.
    """
    shown = Shown.read(value)
    review = None if shown is None else models.Review.objects.filter(pk=shown.review).first()
    if shown is None or review is None:
        words = "This message isn't one of ours."
        attempts.note("slack.request", code="forged", reason=words, subject="slack", by=by)
        return words, False
    answer = answers.Answer(
        verdict=verdict,
        revision=shown.revision,
        digest=shown.digest,
        evidence_number=shown.evidence,
        token=token,
        reason=reason,
    )
    try:
        # The card is looked at outside the lock: whatever changes it also changes revision, digest or evidence.
        if decisions.repeated(review.pk, answer, by) is None and cards.digest(review) != shown.card:
            changed = Stale("This has changed since the message was written; open its page.")
            attempts.of_refused(changed, act="review.decide", subject=f"review {review.pk}", by=by)
            raise changed
        decision = decisions.decide(review.pk, answer, by=by)
    except Stale as refusal:
        return refusal.message, True
    except Refused as refusal:
        return refusal.message, False
    done = "Approved" if decision.verdict == answers.APPROVE else "Rejected"
    return f"{done} by {decision.person.display()}.", True


def command(text: str, *, team: str, member: str, ip: str | None) -> str:
    """Return the answer to the command, in words."""
    word, _, code = text.strip().partition(" ")
    if word != "link" or not code.strip():
        return HELP
    person = slack_links.link_by_code(code, team=team, member=member, ip=ip)
    if person is None:
        reason = "Somebody in Slack sent a code that isn't good, or not any more."
        by = Actor(user=None, channel=answers.SLACK, ip=ip)
        attempts.note("slack.link", code="wrong", reason=reason, subject="slack", by=by)
        return "This code isn't good, or not any more. Make a new one on the page Settings, Notifications."
    return f"You are {person.display()} here now."
