"""Under which arguments an effect stands: as it was done, and as it was proposed before a person made that of it."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import F, Q

from runs import lifecycle
from runs.models.action import Action
from runs.models.occurrence import Occurrence


def arguments(rows: Collection[Occurrence]) -> dict[int, frozenset[str]]:
    """Return for each occurrence the digests that stand as it: its own, those that a person changed into it, and
    those for which a person kept it. One query, whatever their number.
    """
    found: dict[int, set[str]] = {row.pk: set() for row in rows}
    if not rows:
        return {}
    closed = Q(pk=F("occurrence__owner")) | Q(status=lifecycle.Action.ABSORBED)
    actions = Action.objects.filter(
        closed,
        run__root__in={row.root_id for row in rows},
        identity_digest__in={row.identity_digest for row in rows},  # an index knows it
        occurrence__in=rows,
    )
    for occurrence, *digests in actions.values_list("occurrence", "digest", "revisions__digest"):
        found[occurrence] |= {digest for digest in digests if digest}
    return {pk: frozenset(digests) for pk, digests in found.items()}
