"""The words by which runs and questions are found: written when one begins or opens, and by nothing after that."""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q

from runs.models.review import Review
from runs.models.run import Run


class Words(models.Model):
    """Words of one question with those of its run, or of a run alone. A table apart: a decision enters no index."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="words", db_index=False)
    review = models.OneToOneField(Review, null=True, on_delete=models.CASCADE, related_name="words")
    words = SearchVectorField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run"], name="runs_words_one_a_run", condition=Q(review__isnull=True)
            ),
        ]
        indexes = [GinIndex(fields=["words"], name="runs_words_found")]

    def __str__(self) -> str:
        return f"words of run {self.run_id}"
