"""Files that are written while they are sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse

from runs.views import doors


def file(request: doors.Request, parts: Iterator[bytes], *, name: str, kind: str) -> StreamingHttpResponse:
    """Return the answer that sends the parts one by one, to be saved under this name."""
    return StreamingHttpResponse(
        _later(parts) if isinstance(request, ASGIRequest) else parts,
        content_type=kind,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


async def _later(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the same where the server is asynchronous, one chunk at a time."""
    while (part := await sync_to_async(_next)(parts)) is not None:
        yield part


def _next(parts: Iterator[bytes]) -> bytes | None:
    return next(parts, None)
