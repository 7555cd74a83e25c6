"""The judge: reads world, ledger, log and audit when a trial is over, and says what must never be."""

from __future__ import annotations

from collections import Counter

from runs import exact, lifecycle, models, rights
from runs.engine import verifier
from tests.harness.world import World


def judge(run: models.Run, names: list[str], world: World) -> list[str]:
    """Return every invariant that this run breaks, each in one sentence."""
    run.refresh_from_db()
    found = [*_ended(run), *_effects(run, names, world), *_released(run), *_log(run), *_questions(run)]
    return [f"run {run.pk}: {sentence}" for sentence in found]


def chains() -> list[str]:
    """Return what the verifier says of the whole database: folds, projections and chains (I8)."""
    try:
        verifier.verify()
    except verifier.Broken as error:
        return [str(error)]
    return []


def _ended(run: models.Run) -> list[str]:
    """I2: closed, or waiting for a person with a due time."""
    if run.status in lifecycle.RUN_ENDED:
        return []
    if models.Review.objects.filter(run=run, status=lifecycle.Review.OPEN).exists():
        return []
    return [f"lost: it is {run.status} ({run.reason}) with nobody to wait for"]


def _effects(run: models.Run, names: list[str], world: World) -> list[str]:
    """I1: each effect at most once, and exactly once where the record says that it stands."""
    found = []
    for name in names:
        count = world.count(name)
        standing = models.Occurrence.objects.filter(
            root_id=run.root_id,
            identity_digest=exact.digest_of({"name": name}),
            state=lifecycle.Occurrence.STANDING,
        ).count()
        unknown = models.Occurrence.objects.filter(
            root_id=run.root_id,
            identity_digest=exact.digest_of({"name": name}),
            state=lifecycle.Occurrence.UNKNOWN,
        ).count()
        if count > 1:
            found.append(f"doubled: {name} stands {count} times in the world")
        if count != standing and not (unknown and count <= 1):
            found.append(f"untrue: {name} stands {count} times in the world, {standing} times in the record")
    return found


def _released(run: models.Run) -> list[str]:
    """I3, I4: every intent rests on an approval of these very bytes by somebody who may give it."""
    found = []
    for intent in models.Entry.objects.filter(run=run, kind=lifecycle.EntryKind.INTENT):
        review = models.Review.objects.filter(pk=intent.content["review"]).first()
        if review is None:
            found.append(f"unreleased: the intent at position {intent.position} names no review")
            continue
        votes = [
            vote
            for vote in review.decisions.filter(verdict="approve", digest=intent.content["approval"])
            if rights.may_decide(vote.person.roles(), review.groups)
        ]
        if len(votes) < review.quorum or review.digest != intent.content["approval"]:
            found.append(f"unreleased: the intent at position {intent.position} has {len(votes)} votes")
    return found


def _log(run: models.Run) -> list[str]:
    """I5, I6, I9: one deciding answer a review, one closing entry a call, nothing after a final end."""
    found = []
    results = Counter(
        tuple(entry.content["call"])
        for entry in models.Entry.objects.filter(run=run, kind=lifecycle.EntryKind.RESULT)
    )
    found += [
        f"repeated: call {call} was closed {count} times" for call, count in results.items() if count > 1
    ]
    ends = list(models.Entry.objects.filter(run=run, kind=lifecycle.EntryKind.END).order_by("position"))
    for end in ends:
        if end.content["status"] in lifecycle.RUN_FINAL and end.position != run.position:
            found.append(f"reopened: it goes on after its end at position {end.position}")
    for review in models.Review.objects.filter(run=run):
        decided = Counter(vote.verdict for vote in review.decisions.all())
        if sum(decided.values()) > review.quorum:
            found.append(f"decided twice: review {review.pk} holds {dict(decided)}")
    return found


def _questions(run: models.Run) -> list[str]:
    """No open review for a settled action; nothing open once the run is closed, but its own failure."""
    found = [
        f"orphaned: review {review.pk} is open, its action is {review.action.status}"
        for review in models.Review.objects.filter(
            run=run, status=lifecycle.Review.OPEN, action__isnull=False
        ).select_related("action")
        if review.action is not None and review.action.status not in lifecycle.ACTION_OPEN
    ]
    if (
        run.status in lifecycle.RUN_ENDED
        and models.Action.objects.filter(run=run, status__in=lifecycle.ACTION_OPEN).exists()
    ):
        found.append("left open: it has ended with an open action")
    return found
