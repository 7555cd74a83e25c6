"""A run among those that handed it work, and those that it handed work to: a tree with one line for each lineage."""

from __future__ import annotations

from django.db import connection
from django.db.models import Count, Q

from runs import lifecycle, models
from runs.models import scopes
from runs.selectors import deciding, now, run_models, words
from runs.tools import handing

MOST = 100
"""So many lines of a tree are shown."""

_TREE = """
WITH RECURSIVE up (root, parent, n) AS (
  SELECT r.root_id, r.parent_id, 0 FROM runs_run r WHERE r.id = %(run)s
  UNION ALL
  SELECT p.root_id, p.parent_id, up.n + 1 FROM up JOIN runs_run p ON p.id = up.parent WHERE up.n <= %(deepest)s
), down (root, depth, place) AS (
  SELECT up.root, 0, ARRAY[up.root] FROM up WHERE up.parent IS NULL
  UNION ALL
  SELECT c.root_id, d.depth + 1, d.place || c.root_id FROM down d
  JOIN runs_run p ON p.root_id = d.root JOIN runs_run c ON c.parent_id = p.id AND c.root_id = c.id
  WHERE d.depth <= %(deepest)s
)
SELECT root, depth FROM down ORDER BY place LIMIT %(most)s
"""


def above(run: models.Run, viewer: deciding.Viewer) -> str:
    """Return the title of the run that handed this one its work; nothing without one that the viewer may see."""
    limit = viewer.user.limit()
    if run.parent is None or (limit is not None and run.parent.agent_version.agent_id not in limit):
        return ""
    return run.parent.title


def of(run: models.Run, viewer: deciding.Viewer) -> tuple[run_models.Relative, ...]:
    """Return the whole tree of the run, as far as the viewer may see it; nothing for a run that stands alone.

    Of each lineage its current attempt stands there, but of the run's own the run itself.
    """
    with connection.cursor() as cursor:
        cursor.execute(_TREE, {"run": run.pk, "deepest": handing.DEEPEST, "most": MOST})
        depths: dict[int, int] = dict(cursor.fetchall())
    if len(depths) < 2:
        return ()
    current = Q(root__in=depths.keys() - {run.root_id}, superseded_by__isnull=True, mode=models.Run.Mode.LIVE)
    rows = models.Run.objects.filter(scopes.seen(viewer.user)).filter(current | Q(pk=run.pk))
    asked = Count("reviews", filter=Q(reviews__status=lifecycle.Review.OPEN))
    found = {
        row.root_id: row
        for row in rows.select_related("agent_version__agent").annotate(asked=asked).order_by("pk")
    }
    return tuple(
        run_models.Relative(
            run_id=row.pk,
            title=row.title,
            agent=row.agent_version.agent.title,
            status=words.standing(row),
            depth=depth,
            asked=row.asked,
            cost=now.dollars(row.cost_micro, known=row.cost_known),
            this=row.pk == run.pk,
        )
        for root, depth in depths.items()
        if (row := found.get(root)) is not None
    )
