"""What every page's frame shows."""

from __future__ import annotations

from runs import models, rights
from runs.selectors import deciding, page_models, queue


def _halted() -> str:
    """Return why no effect starts at all, where the database itself is the reason."""
    row = models.Installation.objects.get(pk=1)
    if not row.restored:
        return ""
    return f"No effect is started. {row.restored_why} An administrator has to release it (manage.py release_restored)."


def shell(viewer: deciding.Viewer) -> page_models.Shell:
    """Return the frame's facts: the length of the queue and what this person may do."""
    return page_models.Shell(
        queue_count=queue.counts(viewer).badge if viewer.may(rights.Act.VIEW) else 0,
        can_start=viewer.may(rights.Act.START),
        is_admin=viewer.user.is_staff and viewer.may(rights.Act.PEOPLE),
        can_audit=viewer.may(rights.Act.AUDIT),
        groups=tuple(sorted(viewer.roles)),
        halted=_halted() if viewer.roles else "",
    )
