"""What an auditor hands on about one run, as a page for paper: actions with their bytes, and who released them."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs import exact, labelling, models
from runs.models import cards
from runs.selectors import audit_page, dossier_file, keyset, ledger, now, page_models, review_outcome, tools

SIZE = 100
LARGE = 20_000
"""Longest JSON text that the page holds whole, in characters; what is longer stands in the file, by its digest."""
OTHERS, LINES, PLANS = 100, 200, 50


@dataclass(frozen=True, kw_only=True)
class Decided:
    """What one person answered, on which bytes, under which policy."""

    who: str
    words: str
    reason: str
    at: datetime.datetime
    revision: int
    digest: str
    channel: str
    ip: str
    policy: str  # that was in force
    seen: str  # digest of the card that they had before them
    as_now: bool  # the card is still the same, so that the digest can be made again


@dataclass(frozen=True, kw_only=True)
class Learnt:
    """What was found out outside the run."""

    outcome: str
    source: str
    at: datetime.datetime
    content: str


@dataclass(frozen=True, kw_only=True)
class Act:
    """One action, from its proposal to what came of it."""

    number: int
    what: str
    tool: str
    tier: int
    status: str
    revision: int
    at: datetime.datetime
    closed_at: datetime.datetime | None
    arguments: str  # canonical JSON text; empty where it is too long for the page
    digest: str
    contract: str
    asks: str
    rule: str
    policy: str
    receipt: str
    state: str  # of the effect
    key: str
    sends: int
    known: str
    contradicted: bool
    error: str
    decided: tuple[Decided, ...]
    learnt: tuple[Learnt, ...]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question that wasn't about an action."""

    number: int
    kind: str
    status: str
    title: str
    at: datetime.datetime
    decided: tuple[Decided, ...]


@dataclass(frozen=True, kw_only=True)
class Version:
    """One version of the plan."""

    number: int
    author: str
    reason: str
    steps: int
    digest: str
    at: datetime.datetime


@dataclass(frozen=True, kw_only=True)
class Page:
    run: models.Run
    agent: str
    labels: tuple[str, ...]
    input: str
    made_at: datetime.datetime
    made_by: str
    ended: bool
    cost: decimal.Decimal | None
    counts: Mapping[str, int]
    versions: tuple[Version, ...]
    acts: tuple[Act, ...]
    asked: tuple[Asked, ...]
    lines: tuple[audit_page.Row, ...]
    more_asked: bool
    more_lines: bool
    page: page_models.Page
    how: tuple[str, ...]


def page(run: models.Run, params: Mapping[str, str], *, by: str, unread: frozenset[int]) -> Page:
    """Return one page of the run's dossier, in a fixed number of queries.

    Nothing is in it of who approved the questions `unread`, which its reader may still decide.
    """
    moment = models.Installation.objects.annotate(now=now.ClockNow()).values_list("now", flat=True).get(pk=1)
    rows = models.Action.objects.filter(run=run).select_related(
        "run", "occurrence__owner", "policy_version__policy"
    )
    found, links = keyset.page(rows, by=("id",), params=params, size=SIZE, descending=False)
    others = models.Review.objects.filter(run=run, action__isnull=True).order_by("pk")[: OTHERS + 1]
    asked = list(others)
    of_acts = models.Review.objects.filter(action__in=[row.pk for row in found]).select_related("action")
    answers = _answers(run, [row for row in (*of_acts, *asked[:OTHERS]) if row.pk not in unread])
    events = models.AuditEvent.objects.filter(run=run).select_related(*audit_page.PEOPLE).order_by("seq")
    lines = list(events[: LINES + 1])
    plans = models.Plan.objects.filter(run=run).select_related("author").order_by("version")[:PLANS]
    version = run.agent_version
    return Page(
        run=run,
        agent=f"{version.agent.title or version.agent.name}, version {version.number}",
        labels=labelling.written(run.labels),
        input=exact.canonical(run.input, limit=None),
        made_at=moment,
        made_by=by,
        ended=run.ended_at is not None,
        cost=now.dollars(run.cost_micro, known=run.cost_known),
        counts=run.used(),
        versions=tuple(
            Version(
                number=plan.version,
                author=plan.author.get_username() if plan.author else "the agent",
                reason=plan.reason,
                steps=len(plan.steps),
                digest=plan.digest,
                at=plan.created_at,
            )
            for plan in plans
        ),
        acts=_acts(found, answers),
        asked=tuple(
            Asked(
                number=row.pk,
                kind=row.kind,
                status=row.status,
                title=row.title,
                at=row.opened_at,
                decided=answers.get(("review", row.pk), ()),
            )
            for row in asked[:OTHERS]
        ),
        lines=audit_page.event_rows(lines[:LINES], unread),
        more_asked=len(asked) > OTHERS,
        more_lines=len(lines) > LINES,
        page=links,
        how=dossier_file.HOW,
    )


def _answers(run: models.Run, reviews: Sequence[models.Review]) -> dict[tuple[str, int], tuple[Decided, ...]]:
    """Return what was answered, by ("action", its number) or ("review", its number), in two queries."""
    by_number = {row.pk: row for row in reviews}
    given = models.Decision.objects.filter(review__in=by_number).select_related("person").order_by("pk")
    told = {
        (event.subject, event.actor_id, event.act, event.content.get("revision")): event
        for event in models.AuditEvent.objects.filter(
            run=run, subject__in=[f"review {number}" for number in by_number], act__startswith="review."
        ).select_related("policy_version__policy")
    }
    found: dict[tuple[str, int], list[Decided]] = {}
    for row in given:
        review = by_number[row.review_id]
        key = (f"review {review.pk}", row.person_id, f"review.{row.verdict}", row.revision)
        place = ("action", review.action_id) if review.action_id else ("review", review.pk)
        found.setdefault(place, []).append(_decided(row, review, told.get(key)))
    return {place: tuple(decided) for place, decided in found.items()}


def _decided(row: models.Decision, review: models.Review, event: models.AuditEvent | None) -> Decided:
    seen = (event.seen or "") if event else ""
    return Decided(
        who=row.person.get_username(),
        words=review_outcome.verdict_words(row.verdict).removesuffix(":")
        + (" alone, by break-glass," if review.alone_by_id == row.person_id else ""),
        reason=row.reason,
        at=row.created_at,
        revision=row.revision,
        digest=row.digest,
        channel=row.channel,
        ip=row.ip or "",
        policy=str(event.policy_version) if event and event.policy_version else "",
        seen=seen,
        as_now=seen == cards.digest(review),
    )


def _acts(
    found: Sequence[models.Action], answers: Mapping[tuple[str, int], tuple[Decided, ...]]
) -> tuple[Act, ...]:
    arguments = ledger.arguments(found, largest=LARGE)
    receipts, known = ledger.receipts(found), ledger.sources(found)
    learnt: dict[int, list[Learnt]] = {}
    for row in models.Evidence.objects.filter(action__in=[act.pk for act in found]).order_by("pk"):
        learnt.setdefault(row.action_id, []).append(
            Learnt(
                outcome="it happened"
                if row.outcome == models.Evidence.Outcome.HAPPENED
                else "it did not happen",
                source=ledger.SOURCES.get(row.source, row.source),
                at=row.created_at,
                content=exact.canonical(row.content, limit=None)[:LARGE],
            )
        )
    return tuple(
        Act(
            number=row.pk,
            what=str((row.preview or {}).get("summary") or tools.title(row.tool)),
            tool=row.tool,
            tier=row.tier,
            status=row.status,
            revision=row.revision,
            at=row.created_at,
            closed_at=row.closed_at,
            arguments=_short(arguments.get(row.pk)),
            digest=row.digest,
            contract=row.contract,
            asks=row.approval_digest,
            rule=row.rule,
            policy=str(row.policy_version) if row.policy_version else "",
            receipt=_short(receipts.get(row.pk)),
            known=known.get(row.pk, ""),
            error=row.error,
            sends=row.attempt,
            decided=answers.get(("action", row.pk), ()),
            learnt=tuple(learnt.get(row.pk, ())),
            **_effect(row.occurrence),
        )
        for row in found
    )


def _effect(row: models.Occurrence | None) -> dict[str, Any]:
    if row is None:
        return {"state": "", "key": "", "contradicted": False}
    return {"state": row.state, "key": row.key, "contradicted": row.contradicted}


def _short(value: Any) -> str:
    text = "" if value is None else exact.canonical(value, limit=None)
    return text if len(text) <= LARGE else ""
