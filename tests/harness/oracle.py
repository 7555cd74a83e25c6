"""The judge: reads world, ledger, log and audit when a trial is over, and says what must never be.

It trusts nothing that the engine concluded: what stands in the world is counted there, who released what is read from
the votes, and what was acknowledged is compared to what was sent afterwards.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from runs import exact, lifecycle, models, rights
from runs.engine import verifier
from runs.tools import filerefs
from tests.harness import family, ledger

Facts = dict[str, Any]
HOLDS = {"stop": None, "pause": "resume", "pause_all": "resume_all"}
"""What holds effects back, and what lifts it."""
NET = "run.woken"
"""The audit event of the net under lost wake-ups: it should never have anything to catch."""


def judge(run: models.Run, facts: Facts, notes: dict[str, Any]) -> list[str]:
    """Return every invariant that this run breaks, each in one sentence that begins with its kind."""
    attempts = list(models.Run.objects.filter(root_id=run.root_id).order_by("pk"))
    found = [*ledger.effects(run, facts), *_bytes(attempts, facts), *_reads(attempts, facts, notes)]
    for attempt in attempts:
        found += [
            *_ended(attempt, notes),
            *ledger.asked(attempt),
            *([] if notes.get("allowed") else _released(attempt)),
            *_acknowledged(attempt, notes),
            *_log(attempt),
            *_files(attempt),
            *_questions(attempt),
        ]
    return found + ["too early: an answer before the horizon was taken"] * bool(notes["too_early"])


def doubts(run: models.Run) -> dict[str, int]:
    """Return how people answered what was in doubt."""
    asked = models.Decision.objects.filter(review__run=run, review__kind=lifecycle.ReviewKind.IN_DOUBT)
    given = Counter(asked.values_list("verdict", flat=True))
    return {
        "happened": given["happened"],
        "had_not": given["absent_do"] + given["absent_leave"],
        "unknown": given["unknown"],
    }


def chains() -> list[str]:
    """Return what the verifier says of the whole database: folds, projections, decisions and chains (I8)."""
    try:
        verifier.verify()
    except verifier.Broken as error:
        return [f"verifier: {error}"]
    return []


def _ended(run: models.Run, notes: dict[str, Any]) -> list[str]:
    """I2: closed, or waiting for a person with a due time; and no wake-up was lost on the way."""
    found = []
    if run.status not in lifecycle.RUN_ENDED:
        asked = models.Review.objects.filter(run=run, status=lifecycle.Review.OPEN, due_at__isnull=False)
        if not asked.exists():
            found.append(f"lost: it is {run.status} ({run.reason}) with nobody to wait for")
    stranded = any(ack["what"] == "strand" for ack in notes["acks"])
    if models.AuditEvent.objects.filter(run=run, act=NET).exists() and not stranded:
        found.append("lost: a wake-up was; only the net under it found the run")
    return found


def _released(run: models.Run) -> list[str]:
    """I3, I4: each intent rests on an approval of these bytes by who may give it."""
    found = []
    for intent in _lines(run, lifecycle.EntryKind.INTENT):
        content, where = intent.content, f"the intent at position {intent.position}"
        if content.get("review") is None and _handed(run, content["call"]):
            continue  # policy lets work be handed over; what it leads to is asked about there
        review = models.Review.objects.filter(pk=content["review"]).select_related("action").first()
        if review is None or review.action is None:
            found.append(f"unreleased: {where} names no review")
            continue
        votes = {
            vote.person_id
            for vote in review.decisions.filter(verdict="approve", digest=content["approval"])
            if rights.may_decide(vote.person.roles(), review.groups)
        }
        if len(votes) < review.quorum or review.digest != content["approval"]:
            found.append(f"unreleased: {where} has {len(votes)} votes of {review.quorum}")
        elif review.consumed_by_id != review.action_id:
            found.append(f"unreleased: {where} used an approval that was taken back")
        if (_digests(review.action).get(review.revision)) != content["digest"]:
            found.append(f"other bytes: {where} isn't of the revision that was approved")
    return found


def _handed(run: models.Run, call: list[int]) -> bool:
    rows = models.Action.objects.filter(run=run, reply_position=call[0], call_index=call[1])
    return rows.filter(tool__startswith="hand_off.").exists()


def _digests(action: models.Action) -> dict[int, str]:
    """Return the digest of each revision; the first has a row of its own only once there is a second."""
    found = dict(models.Revision.objects.filter(action=action).values_list("number", "digest"))
    return found or {1: exact.digest_of(action.arguments())}


def _bytes(attempts: list[models.Run], facts: Facts) -> list[str]:
    """I3, I4: what was sent has an intent, and is byte for byte what that names."""
    digests: dict[str, set[str]] = {}
    for line in (line for run in attempts for line in _lines(run, lifecycle.EntryKind.INTENT)):
        digests.setdefault(line.content["key"], set()).add(line.content["digest"])
    found = []
    for name, seen in facts.items():
        for request in seen["requests"]:
            if request["key"] not in digests:
                found.append(f"unreleased: {name} was sent without an intent")
            elif request["digest"] not in digests[request["key"]]:
                found.append(f"other bytes: {name} was sent with arguments that nobody approved")
    return found


def _acknowledged(run: models.Run, notes: dict[str, Any]) -> list[str]:
    """After a stop or hold is acknowledged no intent is committed, until it is lifted."""
    found = []
    committed = models.Entry.objects.filter(run=run, kind=lifecycle.EntryKind.INTENT).count()
    acks = [ack for ack in notes["acks"] if ack["taken"] and ack["run"] == run.pk]
    # Who lifted a hold may have died before saying so: then nobody knows which intents came before it.
    lifts = models.Fact.objects.filter(run=run, kind=models.Fact.Kind.RESUME).count()
    unsaid = lifts > sum(ack["what"] == "resume" for ack in acks)
    for index, ack in enumerate(acks):
        if ack["what"] not in HOLDS or (ack["what"] == "pause" and unsaid):
            continue
        if ack["what"] == "stop" and (more := family.intents(family.below(run.pk)) - ack["below"]):
            found.append(f"unreleased: {more} intents of it or below it after the stop was taken")
        lifted = next((other for other in acks[index + 1 :] if other["what"] == HOLDS[ack["what"]]), None)
        until = committed if lifted is None else lifted["intents"]
        if until > ack["intents"]:
            found.append(f"unreleased: {until - ack['intents']} intents after the {ack['what']} was taken")
    return found


def _log(run: models.Run) -> list[str]:
    """I5, I6, I9: one deciding answer a revision, one closing entry a call, nothing after a final end."""
    results = Counter(tuple(line.content["call"]) for line in _lines(run, lifecycle.EntryKind.RESULT))
    found = [
        f"repeated: call {call} was closed {count} times" for call, count in results.items() if count > 1
    ]
    found += [
        f"reopened: it goes on after its end at position {end.position}"
        for end in _lines(run, lifecycle.EntryKind.END)
        if end.content["status"] in lifecycle.RUN_FINAL and end.position != run.position
    ]
    for review in models.Review.objects.filter(run=run).prefetch_related("decisions"):
        at_last = [vote for vote in review.decisions.all() if vote.revision == review.revision]
        verdicts = Counter(vote.verdict for vote in at_last)
        people = {vote.person_id for vote in at_last}
        refused = sum(count for verdict, count in verdicts.items() if verdict != "approve")
        if len(people) != len(at_last) or refused > 1 or verdicts["approve"] > review.quorum:
            found.append(f"decided twice: review {review.pk} holds {dict(verdicts)}")
        enough = refused or verdicts["approve"] >= review.quorum
        if enough and review.status == lifecycle.Review.OPEN:
            found.append(f"lost: review {review.pk} is open with {dict(verdicts)} of {review.quorum}")
    return found


def _files(run: models.Run) -> list[str]:
    """Whatever file the log names is kept: it was before the line that names it."""
    named = {
        digest: f"{path} at position {line.position}"
        for kind in (lifecycle.EntryKind.RESULT, lifecycle.EntryKind.RECEIPT)
        for line in _lines(run, kind)
        for path, digest in filerefs.named(line.content)
    }
    kept = set(models.Blob.objects.filter(sha256__in=named).values_list("sha256", flat=True))
    return [f"lost: {where} is named and not kept" for digest, where in named.items() if digest not in kept]


def _reads(attempts: list[models.Run], facts: Facts, notes: dict[str, Any]) -> list[str]:
    """I6: a read whose result is stored isn't made again, but by a process that stood still in the midst of it.

    A new attempt that goes on from before the read makes it again; nor is a read judged where nobody
    knows who stood still.
    """
    if len(attempts) > 1 or notes["stalled"] is None:
        return []
    run = attempts[0]
    stored = {
        (line.content["call"][0], line.content["call"][1]): line.created_at.timestamp()
        for line in _lines(run, lifecycle.EntryKind.RESULT)
        if line.content["status"] == lifecycle.Action.SUCCEEDED
    }
    found = []
    for reply in _lines(run, lifecycle.EntryKind.REPLY):
        for index, call in enumerate(reply.content["calls"]):
            at = stored.get((reply.position, index))
            if call["effect"] != "read" or at is None:
                continue
            later = [
                seen
                for seen in facts.get(call["arguments"]["name"], {"reads": []})["reads"]
                if seen["at"] > at and seen["pid"] not in notes["stalled"]
            ]
            if later:
                found.append(
                    f"repeated: {call['arguments']['name']} was read again after its result was stored"
                )
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


def _lines(run: models.Run, kind: str) -> list[models.Entry]:
    return list(models.Entry.objects.filter(run=run, kind=kind).order_by("position"))
