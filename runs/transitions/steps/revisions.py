"""Later revisions of an action's arguments. The first stands in the reply, and has a row once there is a second."""

from __future__ import annotations

from typing import Any

from runs import models


def append(
    action: models.Action,
    first: Any,
    *,
    arguments: Any,
    digest: str,
    author: models.User | None,
    reason: str = "",
) -> None:
    """Append the next revision of an action that still carries the one before; `first` are its first arguments."""
    if action.revision == 1:
        models.Revision.objects.create(action=action, number=1, arguments=first, digest=action.digest)
    action.revision += 1
    action.digest = digest
    models.Revision.objects.create(
        action=action,
        number=action.revision,
        arguments=arguments,
        digest=digest,
        author=author,
        reason=reason,
    )
