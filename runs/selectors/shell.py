"""What every page's frame shows."""

from __future__ import annotations

from runs import models, rights
from runs.selectors import deciding, notices, page_models, queue, switched


def _halted(row: models.Installation | None) -> str:
    """Return why no effect starts at all, where the database itself is the reason."""
    if row is None or not row.restored:
        return ""
    return f"No effect is started. {row.restored_why} An administrator has to release it (manage.py release_restored)."


def shell(viewer: deciding.Viewer) -> page_models.Shell:
    """Return the frame's facts: the length of the queue and what this person may do."""
    row = None
    if viewer.roles:
        row = models.Installation.objects.annotate(unread=notices.unread(viewer.user)).get(pk=1)
    return page_models.Shell(
        queue_count=queue.badge(viewer) if viewer.may(rights.Act.VIEW) else 0,
        can_start=viewer.may(rights.Act.START),
        is_admin=viewer.user.is_staff and viewer.may(rights.Act.PEOPLE),
        can_audit=viewer.may(rights.Act.AUDIT),
        can_system=viewer.may(rights.Act.SYSTEM),
        can_switch=viewer.may(rights.Act.SWITCH),
        can_tell=viewer.may(rights.Act.NOTICES),
        unread=row.unread if row is not None else 0,
        limited=viewer.user.limit() is not None,
        groups=tuple(sorted(viewer.roles)),
        halted=_halted(row),
        paused=switched.banner(row.switches, viewer.user) if row is not None else "",
    )
