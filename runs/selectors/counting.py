"""Counting no further than a page needs to say: what grows for ever costs the same in the tenth year."""

from __future__ import annotations

from typing import Any

from django.db.models import IntegerField, QuerySet, Subquery

MOST = 1_000
"""So many are counted; of more a page says that there are over so many."""


class Counted(Subquery):
    """The number of rows of a queryset, as a part of another query."""

    template = "(SELECT count(*) FROM (%(subquery)s) counted)"
    output_field = IntegerField()

    @classmethod
    def upto(cls, rows: QuerySet[Any, Any], most: int = MOST) -> Counted:
        """Return how many rows there are, and `most` + 1 where there are more."""
        return cls(rows.order_by().values("pk")[: most + 1])


def upto(rows: QuerySet[Any, Any], most: int = MOST) -> int:
    """Return how many rows there are, and `most` + 1 where there are more."""
    return rows.order_by().values("pk")[: most + 1].count()
