"""The parts of a budget question: which limit is reached, what it would take, what else is limited."""

from __future__ import annotations

from typing import Any

from runs import measures, models
from runs.selectors import page_models, review_models, run_limits


def asked(review: models.Review) -> review_models.Budget:
    """Return the facts behind a limit that is reached, as they were when it was asked."""
    content: dict[str, Any] = review.content or {}
    measure = str(content["measure"])
    facts = [
        page_models.Fact(label="Limit", value=measures.amount(measure, content["limit"])),
        page_models.Fact(label="Used", value=measures.amount(measure, content["spent"])),
        page_models.Fact(label="Needed to go on", value=measures.amount(measure, content["asked"])),
    ]
    others = [row for row in content["limits"] if row[:2] != [content["scope"], measure]]
    facts += [
        page_models.Fact(
            label=f"{measures.WHOSE[scope]}: {measures.noun(name)}",
            value=f"{measures.amount(name, spent)} of {measures.amount(name, limit)}",
        )
        for scope, name, limit, spent in others
    ]
    money = measure == measures.Measure.COST
    return review_models.Budget(
        sentence=review.title,
        facts=tuple(facts),
        label="Raise by how many dollars" if money else f"Raise by how many {measures.noun(measure)}",
        hint="such as 2.50"
        if money
        else f"at least {max(1, content['asked'] - content['limit'] + content['spent'])}",
    )


def around(review: models.Review) -> tuple[page_models.Fact, ...]:
    """Return the run's budget before and after the action that is asked about; an action itself costs one call."""
    run = review.run
    rows = {row.measure: row for row in models.Account.objects.filter(root=run.root_id)}
    found = []
    for measure in (measures.Measure.CALLS, measures.Measure.COST):
        row = rows.get(measure)
        if row is None and measure == measures.Measure.COST:
            continue
        before = run_limits.used(row, run) if row else run.calls
        of = f" of {measures.amount(measure, row.limit)}" if row else ", no limit"
        after = f", {before + 1:,} after this" if measure == measures.Measure.CALLS else ", this adds nothing"
        used = f"{before:,}" if measure == measures.Measure.CALLS else measures.amount(measure, before)
        label = "Tool calls so far" if measure == measures.Measure.CALLS else "Spent so far"
        found.append(page_models.Fact(label=label, value=f"{used}{of}{after}"))
    return tuple(found)
