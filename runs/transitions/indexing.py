"""Makes runs, questions and effects findable: one row when a run begins or a question opens, in the same transaction.

No intent, receipt or decision gets slower by it: an effect's row is written by the clock.
"""

from __future__ import annotations

from typing import Any

from django.db import connection

from runs import finding, labelling, models
from runs.models import columns, wire

_RUN = (
    "INSERT INTO runs_words (run_id, words) VALUES ($1::bigint, to_tsvector('simple', $2))"
    " ON CONFLICT (run_id) WHERE review_id IS NULL AND effect_id IS NULL DO UPDATE SET words = excluded.words"
)
_REVIEW = (
    "INSERT INTO runs_words (run_id, review_id, words) VALUES ($1::bigint, $2::bigint, to_tsvector('simple', $3)"
    " || coalesce((SELECT words FROM runs_words"
    " WHERE run_id = $1::bigint AND review_id IS NULL AND effect_id IS NULL), '')"
    " || coalesce((SELECT w.words FROM runs_words w JOIN runs_review r ON r.id = w.review_id"
    " WHERE r.action_id = $4::bigint ORDER BY r.id DESC LIMIT 1), ''))"
    " ON CONFLICT (review_id) DO UPDATE SET words = excluded.words"
)
_EFFECT = (
    "INSERT INTO runs_words (run_id, effect_id, open, words)"
    " VALUES ($1::bigint, $2::bigint, $3::boolean, to_tsvector('simple', $4))"
    " ON CONFLICT (effect_id) DO UPDATE SET words = excluded.words, open = excluded.open"
)


def run(row: models.Run, agent: models.Agent) -> None:
    """Make a new run findable by its title, its agent and its labels."""
    _write(*words(row, agent))


def words(row: models.Run, agent: models.Agent) -> wire.Statement:
    """Return what makes a new run findable, for the transaction that makes it."""
    said = finding.text(row.title, agent.title, agent.name, labelling.written(row.labels))
    return _RUN, [columns.number(row.pk), columns.word(said)]


def review(row: models.Review, *, arguments: Any = None) -> None:
    """Make a question findable by what it says, its run, its tool, and the words of its arguments.

    Without `arguments` those of an earlier question about the same action count.
    """
    tool = row.action.tool if row.action is not None else ""
    said = finding.text(row.title, tool, arguments, (row.content or {}).get("cause"))
    action = row.action_id if arguments is None else None
    number = columns.number
    _write(_REVIEW, [number(row.run_id), number(row.pk), columns.word(said), number(action)])


def effect(row: models.Occurrence, *, title: str, receipt: Any, known: bool) -> wire.Statement:
    """Return what makes an effect findable by its tool, its identity, what was said beforehand, and what came of it."""
    said = finding.text(row.tool, title, row.identity, row.owner.preview, receipt, row.owner.error)
    number = columns.number
    open_still = b"f" if known else b"t"
    return _EFFECT, [number(row.owner.run_id), number(row.pk), open_still, columns.word(said)]


def forget(root: int) -> None:
    """Take away every word of a lineage. An effect keeps its row without words: the clock has seen it."""
    rows = models.Words.objects.filter(run__root=root)
    rows.filter(effect__isnull=True).delete()
    rows.update(words="", open=False)


def _write(text: str, values: wire.Values) -> None:
    """Write as a part of the caller's commit, never beside it."""
    if not connection.in_atomic_block:
        raise RuntimeError("Words are written in the transaction that they are about.")
    wire.execute(text, values)
