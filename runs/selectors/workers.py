"""What is known about the process that began an effect."""

from __future__ import annotations

from runs import lifecycle, models


def of(action: models.Action) -> str:
    """Return whether the worker behind the newest intent can still be at it, in words."""
    lines = models.Entry.objects.filter(
        run=action.run_id, kind=lifecycle.EntryKind.INTENT, position__gt=action.reply_position
    ).order_by("-position")
    call = [action.reply_position, action.call_index]
    fence = next((line.content["fence"] for line in lines if line.content["call"] == call), None)
    if fence is None:
        return ""
    run = models.Run.objects.only("fence", "status").get(pk=action.run_id)
    if run.fence == fence and run.status == lifecycle.Run.RUNNING:
        return "is still at work."
    held = models.Tenure.objects.filter(run=action.run_id, fence=fence).first()
    if held is None or held.lost_at is None:
        return "has gone on to other work; it sends nothing more for this."
    if held.gone_at is not None:
        return "is known to be gone; it sends nothing more for this."
    return f"is not known to be gone: process {held.pid} on {held.host.partition(' ')[0]}."
