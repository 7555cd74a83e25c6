"""What of the run reached the world outside: each effect once, whichever attempt carried it out."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from runs import exact, lifecycle, models, rights
from runs.models import reversals
from runs.selectors import attachments, deciding, keyset, ledger, read_back, run_header, run_models, tools

SIZE = 50


def page(
    run: models.Run,
    viewer: deciding.Viewer,
    params: Mapping[str, str],
    *,
    draft: run_models.UndoDraft | None = None,
) -> run_models.EffectsPage:
    """Return one page of the run's effects, newest first, with what was typed to have one taken back."""
    rows, paging = keyset.page(
        models.Action.objects.filter(run=run, occurrence__isnull=False)
        .select_related("occurrence__owner")
        .defer("precondition", "terms"),
        by=("id",),
        params=params,
        size=SIZE,
    )
    ids = [row.pk for row in rows]
    receipts, known = ledger.receipts(rows), ledger.sources(rows)
    files = attachments.of(receipts, run_id=run.pk)
    reviews = dict(models.Review.objects.filter(action__in=ids).order_by("id").values_list("action_id", "pk"))
    released: dict[int, list[str]] = {}
    given = models.Decision.objects.filter(review__action__in=ids, verdict="approve").select_related(
        "person", "review"
    )
    for decision in given.order_by("id"):
        names = released.setdefault(decision.review.action_id or 0, [])
        if decision.person.display() not in names:
            names.append(decision.person.display())
    undone = _undone(run, rows, may=viewer.may(rights.Act.UNDO))
    looks = _looks(rows, may=viewer.may(rights.Act.VERIFY))
    return run_models.EffectsPage(
        header=run_header.header(run, viewer, tab="run-effects"),
        rows=tuple(
            _row(
                row,
                reviews,
                released,
                receipts.get(row.pk),
                {
                    **undone[row.pk],
                    **looks[row.pk],
                    "known": known.get(row.pk, ""),
                    "files": files.get(row.pk, ()),
                },
            )
            for row in rows
        ),
        page=paging,
        token=secrets.token_urlsafe(24),
        draft=draft or run_models.UndoDraft(occurrence_id=0),
    )


def _looks(rows: list[Any], *, may: bool) -> dict[int, dict[str, Any]]:
    """Return, by action, what was read back of its effect, and whether it may be read back now."""
    looked = read_back.newest([row.occurrence_id for row in rows])
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        effect, look = row.occurrence, looked.get(row.occurrence_id)
        stands = effect.state == lifecycle.Occurrence.STANDING and effect.first_sent_at is not None
        idle = look is None or bool(look.outcome)
        found[row.pk] = {
            "looked": look,
            "may_verify": may and stands and idle and tools.verifies(effect.tool),
        }
    return found


def _undone(run: models.Run, rows: list[Any], *, may: bool) -> dict[int, dict[str, Any]]:
    """Return, by action, whether its effect may be taken back, and by which run it is or was."""
    effects = {row.occurrence_id: row.occurrence for row in rows}
    pending = reversals.pending(run.root_id, list(effects.values()))
    done = models.Action.objects.filter(undo_of__in=effects, status=lifecycle.Action.SUCCEEDED)
    by = dict(done.values_list("undo_of", "run"))
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        effect = row.occurrence
        asked, taken = pending.get(effect.pk), by.get(effect.pk)
        stands = effect.state == lifecycle.Occurrence.STANDING and effect.first_sent_at is not None
        sentence = "To be taken back by" if asked else "Taken back by" if taken else ""
        found[row.pk] = {
            "takes_back": row.undo_of_id is not None,
            "may_undo": may and stands and asked is None and tools.undoes(effect.tool),
            "undo_run": asked or taken,
            "undo_sentence": sentence,
        }
    return found


def _row(
    action: Any,
    reviews: Mapping[int, int],
    released: Mapping[int, list[str]],
    receipt: Mapping[str, Any] | None,
    more: Mapping[str, Any],
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
        occurrence_id=occurrence.pk,
        done_by=occurrence.owner.run_id if occurrence.owner.run_id != action.run_id else None,
        **more,
    )


def _contradiction(occurrence: models.Occurrence) -> str:
    if not occurrence.contradicted:
        return ""
    return "What is recorded here and what was learnt later contradict each other. Please look in the other system."
