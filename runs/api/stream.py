"""The stream of changes: the same hints as an open page gets, as server-sent events."""

from __future__ import annotations

from typing import Annotated

from django.http import StreamingHttpResponse
from ninja import Query, Router

from runs import access, live
from runs.api import door

router = Router()
Topic = Annotated[list[str], Query(max_length=live.TOPICS)]


@router.get("/events", operation_id="stream_changes", summary="Stream of changes")
def events(request: door.Request, t: Topic = ["inbox"]) -> StreamingHttpResponse:  # noqa: B006  never changed
    """Server-sent events named after the topics `t`: `inbox` and `run-<id>`.

    An event says only that something has changed: read it then. `resync` comes first, and whenever something may have
    been missed: then read everything that you follow. The stream ends after ten minutes, and
    when the token is revoked or the person may see something else; open it again then.
    """
    topics = access.watched(request.user, live.topics(t))
    live.release()
    response = StreamingHttpResponse(
        live.stream(topics, person=request.user.pk), content_type="text/event-stream"
    )
    response["X-Accel-Buffering"] = "no"
    return response
