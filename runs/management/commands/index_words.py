"""`manage.py index_words`: makes what was there before the search findable by all its words."""

from __future__ import annotations

from django.core.management.base import BaseCommand

from runs.transitions import effect_words


class Command(BaseCommand):
    """Goes over all runs and questions once; it may be stopped and started again, and changes nothing else."""

    help = "Make runs and questions from before an upgrade findable by all their words. Effects follow by the clock."

    def handle(self, *args: object, **options: object) -> None:
        """Index in batches, and say up to which run."""
        last: int | None = 0
        while last is not None and (last := effect_words.again(after=last)) is not None:
            self.stdout.write(f"Indexed up to run {last}.")
        while effect_words.index():
            pass
        self.stdout.write("Every run, question and effect can be found by its words.")
