"""Effects of earlier attempts that a call may be once more in other words, where its identity can't tell."""

from __future__ import annotations

from runs import lifecycle, models
from runs.models import paths
from runs.tools.contract import Tool


def standing(run: models.Run, tool: Tool, identity: str) -> tuple[models.Occurrence, ...]:
    """Return what stands off the path and may be this: where identity isn't declared, or was declared otherwise."""
    if not run.path:
        return ()
    rows = models.Occurrence.objects.filter(
        root=run.root_id, tool=tool.name, state=lifecycle.Occurrence.STANDING
    ).exclude(identity_digest=identity)
    if has_identity(tool):
        rows = rows.exclude(declaration=tool.declaration())
    return tuple(paths.off(run.path, run.pk, list(rows.select_related("owner").order_by("-pk"))))


def has_identity(tool: Tool) -> bool:
    """Return whether the tool's author said what makes two calls the same."""
    return tool.identity is not None or type(tool).identity_of is not Tool.identity_of
