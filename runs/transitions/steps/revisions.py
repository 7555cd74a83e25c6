"""The revisions of an action's arguments that people wrote.

The first stands in the reply, and has a row once there is a second; where a person asked for the action, it is theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def asked(action: models.Action, arguments: Any, asked: Mapping[str, Any]) -> None:
    """Append the first revision of an action that a person asked for, with their reason."""
    models.Revision.objects.create(
        action=action,
        number=1,
        arguments=arguments,
        digest=action.digest,
        author=models.User.objects.filter(username=asked["by"]).first(),
        reason=asked["reason"],
    )
