"""What of the run reached the world outside: each effect once, whichever attempt carried it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import exact, models
from runs.selectors import deciding, keyset, ledger, run_header, run_models, tools

SIZE = 50


def page(run: models.Run, viewer: deciding.Viewer, params: Mapping[str, str]) -> run_models.EffectsPage:
    """Return one page of the run's effects, newest first."""
    rows, paging = keyset.page(
        models.Action.objects.filter(run=run, occurrence__isnull=False)
        .select_related("occurrence__owner")
        .defer("precondition", "terms"),
        by=("id",),
        params=params,
        size=SIZE,
    )
    ids = [row.pk for row in rows]
    receipts = ledger.receipts(rows)
    reviews = dict(models.Review.objects.filter(action__in=ids).order_by("id").values_list("action_id", "pk"))
    released: dict[int, list[str]] = {}
    given = models.Decision.objects.filter(review__action__in=ids, verdict="approve").select_related(
        "person", "review"
    )
    for decision in given.order_by("id"):
        names = released.setdefault(decision.review.action_id or 0, [])
        if decision.person.display() not in names:
            names.append(decision.person.display())
    return run_models.EffectsPage(
        header=run_header.header(run, viewer, tab="run-effects"),
        rows=tuple(_row(row, reviews, released, receipts.get(row.pk)) for row in rows),
        page=paging,
    )


def _row(
    action: Any,
    reviews: Mapping[int, int],
    released: Mapping[int, list[str]],
    receipt: Mapping[str, Any] | None,
) -> run_models.EffectRow:
    occurrence: models.Occurrence = action.occurrence
    shown = action.preview or {}
    return run_models.EffectRow(
        what=str(shown.get("summary") or tools.title(action.tool)),
        where=str(shown.get("target") or ""),
        tool=action.tool,
        tier=action.tier,
        state=occurrence.state,
        action_status=action.status,
        at=occurrence.settled_at or occurrence.first_sent_at or occurrence.created_at,
        key=occurrence.key,
        request_digest=action.digest,
        attempts=action.attempt,
        by=" and ".join(released.get(action.pk, [])),
        outcome=str((receipt or {}).get("summary") or action.error),
        receipt=exact.text_of(receipt) if receipt else "",
        review_id=reviews.get(action.pk),
        contradiction=_contradiction(occurrence),
    )


def _contradiction(occurrence: models.Occurrence) -> str:
    if not occurrence.contradicted:
        return ""
    return "What is recorded here and what was learnt later contradict each other. Please look in the other system."
