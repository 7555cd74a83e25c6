"""What the questions of each policy rule came to: how often people stopped or changed what it asked about."""

from __future__ import annotations

import datetime

from django.db.models import Count, Q
from django.db.models.functions import Now

from runs import lifecycle, models
from runs.models import scopes
from runs.selectors import policy_models

MOST = 2_000


def by_rule(days: int, user: models.User) -> dict[str, policy_models.Yield]:
    """Return for each rule's name what came of its questions within so many days, of those they see; one query.

    Of very many the newest `MOST` count.
    """
    status = lifecycle.Review
    newest = models.Review.objects.filter(
        scopes.seen(user, "run__agent_version__agent"),
        kind=lifecycle.ReviewKind.ACTION,
        opened_at__gte=Now() - datetime.timedelta(days=days),
    ).order_by("-opened_at")
    rows = (
        models.Review.objects.filter(pk__in=newest.values("pk")[:MOST])
        .values("action__rule")
        .annotate(
            asked=Count("id"),
            approved=Count("id", filter=Q(status=status.APPROVED, revision=1)),
            edited=Count("id", filter=Q(status=status.APPROVED, revision__gt=1)),
            refused=Count("id", filter=Q(status=status.REJECTED)),
            expired=Count("id", filter=Q(status=status.EXPIRED)),
            otherwise=Count("id", filter=Q(status=status.ANSWERED)),
            gone=Count("id", filter=Q(status__in=(status.SETTLED, status.SUPERSEDED))),
            waiting=Count("id", filter=Q(status=status.OPEN)),
        )
    )
    return {
        row["action__rule"]: policy_models.Yield(
            asked=row["asked"], approved=row["approved"], edited=row["edited"], refused=row["refused"],
            expired=row["expired"], otherwise=row["otherwise"], gone=row["gone"], waiting=row["waiting"],
        )
        for row in rows
    }  # fmt: skip
