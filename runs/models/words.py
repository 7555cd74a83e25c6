"""The words by which runs, questions and effects are found: a run's when it begins, a question's when it opens.

An effect's are written by the clock, when it has begun and when its outcome is known.
"""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q

from runs.models.occurrence import Occurrence
from runs.models.review import Review
from runs.models.run import Run


class Words(models.Model):
    """Words of one question with those of its run, of a run alone, or of one effect.

    A table apart: no decision, intent or receipt enters an index. Of an effect that has no outcome yet they are `open`.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="words", db_index=False)
    review = models.OneToOneField(Review, null=True, on_delete=models.CASCADE, related_name="words")
    effect = models.OneToOneField(
        Occurrence, null=True, on_delete=models.CASCADE, related_name="words", db_constraint=False
    )
    open = models.BooleanField(default=False, db_default=False)
    words = SearchVectorField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run"],
                name="runs_words_one_a_run",
                condition=Q(review__isnull=True, effect__isnull=True),
            ),
        ]
        indexes = [
            GinIndex(fields=["words"], name="runs_words_found"),
            # For words that are in very many: then the newest runs are asked whether they have them.
            models.Index(fields=["run"], name="runs_words_of_run"),
            models.Index(fields=["effect"], name="runs_words_open", condition=Q(open=True)),
        ]

    def __str__(self) -> str:
        return f"words of run {self.run_id}"
