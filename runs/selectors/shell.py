"""What every page's frame shows."""

from __future__ import annotations

from runs import rights
from runs.selectors import deciding, page_models, queue


def shell(viewer: deciding.Viewer) -> page_models.Shell:
    """Return the frame's facts: the length of the queue and what this person may do."""
    return page_models.Shell(
        queue_count=queue.counts(viewer).total if viewer.may(rights.Act.VIEW) else 0,
        can_start=viewer.may(rights.Act.START),
        is_admin=viewer.user.is_staff and viewer.may(rights.Act.PEOPLE),
        groups=tuple(sorted(viewer.roles)),
    )
