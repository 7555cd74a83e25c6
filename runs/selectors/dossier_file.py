"""Everything about one run as one file of JSON lines, which a stranger can check with a hash function and nothing else.

Written while it is sent, in chunks by key: a long run takes no more memory than a short one.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from django.db.models import Model, Q, QuerySet

from runs import exact, models
from runs.models import cards
from runs.selectors import blind, ledger, now

CHUNK = 500
FORMAT = 1
LARGEST = 2**31 - 1
HOW = (
    "Each line is one JSON object in canonical form: keys sorted, no blanks, ASCII. 'digest(x)' below is the SHA-256 of"
    " the canonical form of x as 64 hexadecimal digits. 'link(a, b, ...)' is the SHA-256 over its parts, each as its"
    " length in 8 bytes, big end first, and then its UTF-8 bytes; numbers are written in decimal.",
    "The last line holds the SHA-256 of all bytes before it: head -n -1 FILE | sha256sum.",
    "run: input_digest = digest(input).",
    "plan: digest = digest(steps).",
    "entry: digest = digest(content); head = link(head of the entry before, or 64 zeros, run, position, kind, digest,"
    " checkpoint number or 0, boundary or nothing, canonical form of the counters or nothing). The entries stand in"
    " order, those of earlier attempts that this one goes on from first; the last head is the run's.",
    "action: arguments_digest = digest(arguments): the bytes that ran, where it ran. asks = link(action, revision,"
    " tool, contract, arguments_digest, digest(preview), digest(precondition)): what an approval names, unless it was"
    " prepared anew since.",
    "review: card_digest = digest(card) is what whoever decided had before them; the audit line of their decision"
    " names it as 'seen', unless the question changed after.",
    "audit: hash = HMAC-SHA-256, under a key that only the installation has, over link's parts before hashing:"
    " previous, seq, at, actor's number, act, run, subject, content, channel, ip, and, where there is one, on whose"
    " behalf, policy version's number and seen. Without the key the lines can be compared to a head that was exported.",
)
Row = dict[str, Any]


def written(run: models.Run, *, by: str, unread: frozenset[int]) -> Iterator[bytes]:
    """Yield the file in chunks; its last line proves the others.

    Nothing is in it of who approved the questions `unread`, which its reader may still decide.
    """
    running = hashlib.sha256()
    count = 0
    for chunk in _chunks(run, by=by, unread=unread):
        text = "".join(exact.canonical(row, limit=None) + "\n" for row in chunk).encode("ascii")
        running.update(text)
        count += len(chunk)
        yield text
    yield (exact.canonical({"kind": "end", "lines": count, "sha256": running.hexdigest()}) + "\n").encode(
        "ascii"
    )


def _chunks(run: models.Run, *, by: str, unread: frozenset[int]) -> Iterator[list[Row]]:
    moment = models.Installation.objects.annotate(now=now.ClockNow()).values_list("now", flat=True).get(pk=1)
    yield [_head(run, by=by, at=moment)]
    path = [(int(ancestor), int(last)) for ancestor, last in run.path]
    on_path = Q(run=run)
    for ancestor, last in path:
        on_path |= Q(run=ancestor, position__lte=last)
    yield from _by_key(models.Plan.objects.filter(on_path).select_related("author"), _plan)
    for ancestor, last in [*path, (run.pk, run.position)]:
        yield from _entries(ancestor, last)
    own = {"run": run}
    for actions in _chunked(
        models.Action.objects.filter(**own).select_related("run", "policy_version__policy")
    ):
        held = ledger.arguments(actions, largest=LARGEST)
        yield [_action(row, held[row.pk]) for row in actions]
    revisions = models.Revision.objects.filter(action__run=run).select_related("author")
    yield from _by_key(revisions, _revision)
    yield from _by_key(models.Review.objects.filter(**own).select_related("action"), _review)
    decisions = models.Decision.objects.filter(review__run=run).exclude(review__in=unread)
    yield from _by_key(decisions.select_related("person"), _decision)
    yield from _by_key(models.Occurrence.objects.filter(root=run.root_id), _effect)
    yield from _by_key(models.Evidence.objects.filter(action__run__root=run.root_id), _evidence)
    events = models.AuditEvent.objects.filter(**own).select_related(
        "actor", "on_behalf_of", "policy_version__policy"
    )
    for lines in _chunked(events):
        yield [_event(row) for row in blind.veiled(lines, unread)]
    yield from _by_key(models.Refusal.objects.filter(**own).select_related("actor", "on_behalf_of"), _refusal)


def _by_key(rows: QuerySet[Any], made: Callable[[Any], Row]) -> Iterator[list[Row]]:
    """Yield what is made of the rows, in the order of their keys."""
    for found in _chunked(rows):
        yield [made(row) for row in found]


def _chunked(rows: QuerySet[Any]) -> Iterator[list[Any]]:
    last = 0
    while found := list(rows.filter(pk__gt=last).order_by("pk")[:CHUNK]):
        last = found[-1].pk
        yield found


def _entries(run: int, until: int) -> Iterator[list[Row]]:
    last = 0
    rows = models.Entry.objects.filter(run=run, position__lte=until).order_by("position")
    while found := list(rows.filter(position__gt=last)[:CHUNK]):
        last = found[-1].position
        yield [_entry(row) for row in found]


def _head(run: models.Run, *, by: str, at: datetime.datetime) -> Row:
    version = run.agent_version
    return {
        "kind": "dossier",
        "format": FORMAT,
        "how": list(HOW),
        "made_at": _time(at),
        "made_by": by,
        "run": run.pk,
        "title": run.title,
        "mode": run.mode,
        "status": run.status,
        "lineage": run.root_id,
        "goes_on_from": run.path,
        "superseded_by": run.superseded_by_id,
        "agent": {
            "name": version.agent.name,
            "version": version.number,
            "digest": version.digest,
            "provider": version.provider,
            "model": version.model,
            "instructions": version.instructions,
            "tools": version.tools,
            "definition": version.definition,
        },
        "pins": run.pins_id,
        "input": run.input,
        "input_digest": run.input_digest,
        "started_by": run.created_by.get_username(),
        "started_at": _time(run.created_at),
        "ended_at": _time(run.ended_at),
        "summary": run.summary,
        "error": run.error,
        "used": {
            **run.used(),
            "cost_known": run.cost_known,
            "tokens_in": run.tokens_in,
            "tokens_out": run.tokens_out,
        },
        "budget": run.budget,
        "position": run.position,
        "head": run.head,
    }


def _plan(row: models.Plan) -> Row:
    return {"kind": "plan", "run": row.run_id, "version": row.version, "steps": row.steps, "digest": row.digest,
            "author": _name(row.author), "reason": row.reason, "position": row.position,
            "at": _time(row.created_at)}  # fmt: skip


def _entry(row: models.Entry) -> Row:
    return {"kind": "entry", "run": row.run_id, "position": row.position, "type": row.kind, "content": row.content,
            "digest": exact.digest_of(row.content), "head": row.head, "checkpoint": row.number,
            "boundary": row.boundary, "counters": row.counters, "at": _time(row.created_at)}  # fmt: skip


def _action(row: models.Action, arguments: Any) -> Row:
    return {"kind": "action", "action": row.pk, "run": row.run_id, "call": [row.reply_position, row.call_index],
            "step": row.step, "tool": row.tool, "contract": row.contract, "effect": row.effect, "tier": row.tier,
            "protection": row.protection, "status": row.status, "revision": row.revision,
            "arguments": arguments, "arguments_digest": row.digest, "identity": row.identity,
            "verdict": row.verdict, "rule": row.rule, "terms": row.terms,
            "policy": str(row.policy_version) if row.policy_version else None,
            "policy_digest": row.policy_version.digest if row.policy_version else None,
            "asks": row.approval_digest or None, "preview": row.preview, "precondition": row.precondition,
            "occurrence": row.occurrence_id, "sends": row.attempt, "undo_of": row.undo_of_id, "error": row.error,
            "receipt_position": row.receipt_position, "at": _time(row.created_at),
            "closed_at": _time(row.closed_at)}  # fmt: skip


def _revision(row: models.Revision) -> Row:
    return {"kind": "revision", "action": row.action_id, "revision": row.number, "arguments": row.arguments,
            "arguments_digest": row.digest, "author": _name(row.author), "reason": row.reason,
            "at": _time(row.created_at)}  # fmt: skip


def _review(row: models.Review) -> Row:
    return {"kind": "review", "review": row.pk, "action": row.action_id, "asks_about": row.kind, "status": row.status,
            "title": row.title, "tier": row.tier, "revision": row.revision, "digest": row.digest,
            "content": row.content, "card": cards.card(row), "card_digest": cards.digest(row), "votes": row.votes,
            "quorum": row.quorum, "groups": row.groups, "four_eyes": row.separation, "answer": row.answer,
            "used_by": row.consumed_by_id, "asked_at": _time(row.opened_at), "due_at": _time(row.due_at),
            "closed_at": _time(row.closed_at)}  # fmt: skip


def _decision(row: models.Decision) -> Row:
    return {"kind": "decision", "review": row.review_id, "revision": row.revision, "digest": row.digest,
            "person": _name(row.person), "verdict": row.verdict, "reason": row.reason, "content": row.content,
            "channel": row.channel, "ip": row.ip, "at": _time(row.created_at)}  # fmt: skip


def _effect(row: models.Occurrence) -> Row:
    return {"kind": "effect", "occurrence": row.pk, "tool": row.tool, "identity": row.identity, "n": row.n,
            "state": row.state, "action": row.owner_id, "key": row.key, "earlier_keys": row.earlier_keys,
            "first_sent_at": _time(row.first_sent_at), "horizon": _time(row.horizon),
            "settled_at": _time(row.settled_at), "receipt": row.receipt, "receipt_position": row.receipt_position,
            "contradicted": row.contradicted, "verification": row.verification}  # fmt: skip


def _evidence(row: models.Evidence) -> Row:
    return {"kind": "evidence", "action": row.action_id, "number": row.number, "attempt": row.attempt,
            "outcome": row.outcome, "source": row.source, "content": row.content,
            "at": _time(row.created_at)}  # fmt: skip


def _event(row: models.AuditEvent) -> Row:
    return {"kind": "audit", "seq": row.seq, "at": row.at.astimezone(datetime.UTC).isoformat(timespec="microseconds"),
            "actor": _name(row.actor), "on_behalf_of": _name(row.on_behalf_of), "act": row.act,
            "subject": row.subject, "content": row.content, "channel": row.channel, "ip": row.ip,
            "policy": str(row.policy_version) if row.policy_version else None, "seen": row.seen,
            "previous": row.previous, "hash": row.hash}  # fmt: skip


def _refusal(row: models.Refusal) -> Row:
    return {"kind": "refused", "number": row.pk, "at": _time(row.at), "actor": _name(row.actor),
            "on_behalf_of": _name(row.on_behalf_of), "act": row.act, "code": row.code, "reason": row.reason,
            "subject": row.subject, "channel": row.channel, "ip": row.ip}  # fmt: skip


def _name(person: Model | None) -> str | None:
    return person.get_username() if isinstance(person, models.User) else None


def _time(moment: datetime.datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(datetime.UTC).isoformat(timespec="microseconds")
