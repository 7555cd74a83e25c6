"""Proving that nothing was changed behind the product's back.

Four comparisons: the audit chain against its head, each run's log against its chain and the heads that the audit
chain names, every row with a status against the log, and people's decisions against the audit chain. A database owner
who also holds the keys, or who cuts off a tail together with its head row, is beyond what this can find; a copy of
the head kept elsewhere finds the latter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from runs import exact, lifecycle, models, state
from runs.engine import (
    accounts,
    chains,
    comparing,
    comparing_effects,
    comparing_erased,
    comparing_facts,
    comparing_imported,
    comparing_limits,
    comparing_refusals,
    comparing_terms,
    told,
)
from runs.engine.comparing import Broken as Broken
from runs.models import paths
from runs.transitions import decisions, log

BRANCHED = ("run.redriven", "run.forked", "run.separated", "run.undoing")


@dataclass(frozen=True, kw_only=True)
class Verified:
    """How much was read, and the head that it leads to."""

    events: int
    head: str
    runs: int
    entries: int
    sealed: int
    erased: Mapping[int, Mapping[str, models.Tombstone]]


@contextmanager
def one_moment() -> Iterator[None]:
    """Read everything as it is at one moment; inside of a transaction that is the transaction's."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def verify(heads: Mapping[int, str] | None = None) -> Verified:
    """Return what was verified; refuse (Broken) with the first bad row.

    `heads` are heads of the audit chain that were kept elsewhere, by the number of their event: it must go on from
    each of them. A site that goes on meanwhile is read as it is at one moment.
    """
    with one_moment():
        return _all(heads or {})


def _all(heads: Mapping[int, str]) -> Verified:
    events, head = chains.events(heads)
    chains.anchored()
    erased = comparing_erased.parts()
    runs = entries = 0
    books = accounts.Books()
    for run in models.Run.objects.order_by("pk").iterator(chunk_size=200):
        entries += _run(run, books, erased)
        runs += 1
    books.compare()
    started = models.AuditEvent.objects.filter(act__in=("run.started", *BRANCHED)).order_by("seq")
    for event in started.exclude(run__in=models.Run.objects.all()):
        raise Broken(f"audit event {event.seq}: the run that it started is gone")
    _occurrences(models.Occurrence.objects.all())
    comparing_facts.evidence()
    _decisions()
    _asked()
    _switches()
    comparing_limits.limits()
    _dry_runs()
    _labels()
    _pins()
    comparing_refusals.refusals()
    comparing_imported.imported()
    return Verified(events=events, head=head, runs=runs, entries=entries, sealed=_sealed(), erased=erased)


def _occurrences(rows: QuerySet[models.Occurrence]) -> None:
    for row in comparing_erased.intact(rows).order_by("pk").iterator(chunk_size=200):
        with comparing.readable(f"occurrence {row.pk}"):
            comparing_effects.occurrence(row)


def _asked() -> None:
    """A failed run is somebody's: it was asked what next, or another attempt has taken its place."""
    asked = models.Review.objects.filter(run=OuterRef("pk"), kind=lifecycle.ReviewKind.FAILURE)
    stranded = models.Run.objects.filter(status=lifecycle.Run.FAILED, superseded_by__isnull=True)
    lost = stranded.exclude(Exists(asked)).order_by("pk").first()
    if lost is not None:
        raise Broken(f"run {lost.pk}: it failed, and nobody was asked what to do")


def verify_run(run: models.Run) -> int:
    """Return the number of entries of one run; refuse (Broken) the first row of it or its lineage that differs."""
    with one_moment():
        entries = _run(run, accounts.Books(), comparing_erased.parts(run.root_id))
        _occurrences(models.Occurrence.objects.filter(root_id=run.root_id))
    return entries


def _run(run: models.Run, books: accounts.Books, erased: Mapping[int, Any]) -> int:
    """Return the number of entries of a run that agrees with its log."""
    _branched(run)
    if run.pk in erased:
        return comparing_erased.run(run, erased[run.pk], books)
    if exact.digest_of(run.input) != run.input_digest:
        raise Broken(f"run {run.pk}: its input was changed")
    before, facts, count = state.State(), told.Log(), 0
    try:
        for inherited, before in state.walk(paths.told(run.path)):
            facts.read(inherited, before)
        facts.branch()
        current = before
        for line, current in state.walk(chains.lines(run), before):
            count += 1
            facts.read(line, current)
    except state.Broken as error:
        raise Broken(f"run {run.pk}, {error}") from error
    _begun(run)
    if current.input != run.input:
        raise Broken(f"run {run.pk}: its input is not what its log says")
    if current.counters.as_json() != log.counters(run):
        raise Broken(f"run {run.pk}: its counters differ from its log")
    if (current.plan_version, current.approved_plan) != (run.plan_version, run.approved_plan):
        raise Broken(f"run {run.pk}: the versions of its plan are not what its log says")
    if current.pins != run.pins_id:
        raise Broken(f"run {run.pk}: what it is pinned to is not what its log says")
    ended = run.status if run.status in lifecycle.RUN_ENDED else None
    if ended != current.ended and not (run.reason == "retry" and run.status == lifecycle.Run.QUEUED):
        raise Broken(f"run {run.pk}: it is {run.status}, but its log says {current.ended or 'not ended'}")
    comparing.run(run, current, facts)
    comparing_facts.run(run, facts.facts)
    asked = {number: content for number, content in facts.reviews.items() if content["verdict"] == "review"}
    comparing_terms.run(run, {number: (facts.placed[number], content) for number, content in asked.items()})
    books.add(run, facts)
    return count


def _branched(run: models.Run) -> None:
    """Compare where the run came from to the audit chain, and whether it has begun to its log."""
    if not run.path:
        return
    event = models.AuditEvent.objects.filter(run=run, act__in=BRANCHED).order_by("seq").first()
    if event is None:
        raise Broken(f"run {run.pk}: the audit chain doesn't know where it came from")
    said = [event.content[name] for name in ("root", "path", "mode")]
    if said != [run.root_id, run.path, run.mode]:
        raise Broken(f"run {run.pk}: where it came from is not what the audit chain says")
    old = event.content.get("supersedes")
    if old is not None and not models.Run.objects.filter(pk=old, superseded_by=run).exists():
        raise Broken(f"run {old}: run {run.pk} took over from it, and it doesn't say so")


def _begun(run: models.Run) -> None:
    own = models.Entry.objects.filter(run=run, kind=lifecycle.EntryKind.NOTE)
    if run.path and run.begun != any(line.content.get("code") == "begun" for line in own):
        raise Broken(f"run {run.pk}: whether it has begun is not what its log says")


def _sealed() -> int:
    """Return how many lineages are sealed, compared to the audited acts of administrators."""
    told_of = set(models.AuditEvent.objects.filter(act="lineage.sealed").values_list("run", flat=True))
    count = len(told_of)
    for root in models.Run.objects.filter(sealed_at__isnull=False).values_list("pk", flat=True):
        if root not in told_of:
            raise Broken(f"run {root}: the audit chain doesn't know that its lineage is sealed")
        told_of.remove(root)
    for root in told_of:
        raise Broken(f"run {root}: the audit chain says that its lineage is sealed")
    return count


def _dry_runs() -> None:
    """Compare which runs were started as dry runs to the audited acts: one made live would do what it only tried."""
    events = models.AuditEvent.objects.filter(act="run.started", content__contains='"dry_run":true')
    told_of = set(events.values_list("run", flat=True))
    dry = models.Run.objects.filter(mode=models.Run.Mode.DRY_RUN).values_list("pk", "path")
    for run in sorted(told_of ^ {pk for pk, path in dry if not path}):
        raise Broken(f"run {run}: whether it is a dry run is not what the audit chain says")


def _labels() -> None:
    """Compare runs' labels, which decide what rules are about them, to the audited starts; branches keep them."""
    events = models.AuditEvent.objects.filter(act="run.started", content__contains='"labels":')
    told_of = {run: content.get("labels", {}) for run, content in events.values_list("run", "content")}
    for run, labels, path in models.Run.objects.order_by("pk").values_list("pk", "labels", "path"):
        if path:
            told_of[run] = told_of.get(path[-1][0], {})
        if labels != told_of.get(run, {}):
            raise Broken(f"run {run}: its labels are not what the audit chain says")


def _pins() -> None:
    """Compare what runs are pinned to, and the contracts named there, to their digests."""
    contracts = set(models.Contract.objects.values_list("pk", flat=True))
    known = set()
    for pins in models.Pins.objects.order_by("pk"):
        if exact.digest_of(pins.content) != pins.digest:
            raise Broken(f"pins {pins.digest}: they were changed")
        for gone in {digest for digest in pins.content["tools"].values() if digest} - contracts:
            raise Broken(f"contract {gone}: it is gone")
        known.add(pins.digest)
    for run, digest in models.Run.objects.filter(pins__isnull=False).values_list("pk", "pins_id"):
        if digest not in known:
            raise Broken(f"run {run}: the pins that it started with are gone")
    for contract in models.Contract.objects.order_by("pk"):
        if exact.digest_of(contract.content) != contract.digest or contract.content["name"] != contract.tool:
            raise Broken(f"contract {contract.digest}: it was changed")


def _switches() -> None:
    """Compare what is switched off to the audited acts of administrators."""
    told_of: dict[str, tuple[str, str]] = {}
    events = models.AuditEvent.objects.filter(act__in=("switch.off", "switch.on")).select_related("actor")
    for event in events.order_by("seq"):
        what = event.content["switch"]
        told_of.pop(what, None)
        if event.act == "switch.off":
            told_of[what] = (event.actor.get_username() if event.actor else "", event.content["reason"])
    row = models.Installation.objects.get(pk=1)
    with comparing.readable("installation"):
        found = {what: (switch["by"], switch["reason"]) for what, switch in row.switches.items()}
    if found != told_of or row.paused_all != ("all" in told_of):
        raise Broken("installation: its switches are not what the audit chain says")
    about = models.AuditEvent.objects.filter(act__in=("database.restored", "database.released"))
    last = about.order_by("-seq").values_list("act", flat=True).first()
    if row.restored != (last == "database.restored"):
        raise Broken("installation: whether it waits for a release is not what the audit chain says")


def _decisions() -> None:
    """Compare each decision to the audited act of the person, and each decided review to its decisions."""
    acts = {f"review.{answer}" for answers in decisions.ANSWERS.values() for answer in answers}
    audited: Counter[tuple[Any, ...]] = Counter()
    for event in models.AuditEvent.objects.filter(act__in=acts).iterator(chunk_size=500):
        told_of = event.content
        audited[event.subject, event.actor_id, told_of["answer"], told_of["revision"], told_of["digest"],
                told_of["reason"], told_of.get("receipt", ""), told_of.get("amount"),
                told_of.get("occurrence"), _value(told_of), told_of.get("token", {}).get("id"),
                told_of.get("in_place_of")] += 1  # fmt: skip
    votes: Counter[tuple[int, int, str]] = Counter()
    for row in models.Decision.objects.order_by("pk").iterator(chunk_size=500):
        with comparing.readable(f"decision {row.pk}"):
            receipt = row.content.get("receipt", "")
            amount, which = row.content.get("amount"), row.content.get("occurrence")
            value = _value(row.content)
            if row.content != decisions.content_of(receipt=receipt, amount=amount, which=which, value=value):
                raise Broken(f"decision {row.pk}: it holds more than was decided")
        act = (f"review {row.review_id}", row.person_id, row.verdict, row.revision, row.digest, row.reason,
               receipt, amount, which, value, row.through_id, row.on_behalf_of_id)  # fmt: skip
        audited[act] -= 1
        if audited[act] < 0:
            raise Broken(f"decision {row.pk}: the audit chain doesn't know it")
        votes[row.review_id, row.revision, row.verdict] += 1
    for act, left in audited.items():
        if left:
            raise Broken(f"{act[0]}: a decision on it is gone")
    for review in models.Review.objects.order_by("pk").iterator(chunk_size=500):
        _votes(review, votes)


def _value(content: Mapping[str, Any]) -> str | None:
    """Return the text of the value with which a question was answered."""
    return exact.canonical(content["value"], limit=None) if "value" in content else None


def _votes(review: models.Review, votes: Counter[tuple[int, int, str]]) -> None:
    approvals = votes[review.pk, review.revision, decisions.APPROVE]
    if review.votes != approvals:
        raise Broken(f"review {review.pk}: it counts {review.votes} votes, {approvals} were given")
    decided = {
        lifecycle.Review.APPROVED: approvals >= review.quorum,
        lifecycle.Review.REJECTED: votes[review.pk, review.revision, decisions.REJECT] > 0,
        lifecycle.Review.ANSWERED: votes[review.pk, review.revision, review.answer] > 0,
    }
    if not decided.get(lifecycle.Review(review.status), True):
        raise Broken(f"review {review.pk}: it is {review.status}, but nobody decided so")
