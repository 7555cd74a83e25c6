"""A bound for what one request may carry, before anything of it is kept: Django reads a whole body before it looks."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Any, Any], Awaitable[None]]


class Bounded:
    """The site behind it; whoever sends more than `most` bytes gets a 413, whether they said so before or not."""

    def __init__(self, app: App, most: int) -> None:
        self.app, self.most = app, most

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        said = dict(scope["headers"]).get(b"content-length", b"0")
        if said.isdigit() and int(said) > self.most:
            await self._refuse(scope, send)
            return
        read, refused, begun = 0, False, False

        async def bounded() -> Message:
            nonlocal read, refused
            message = await receive()
            read += len(message.get("body", b""))
            if read > self.most:
                refused = True
                return {"type": "http.disconnect"}
            return message

        async def answer(message: Message) -> None:
            nonlocal begun
            begun = True
            if not refused:
                await send(message)

        await self.app(scope, bounded, answer)
        if refused and not begun:
            await self._refuse(scope, send)

    async def _refuse(self, scope: Message, send: Send) -> None:
        sentence = f"This request is too large: at most {self.most:,} bytes are taken."
        kind, text = b"text/plain; charset=utf-8", sentence
        if scope["path"].startswith("/api/"):
            kind = b"application/problem+json"
            text = json.dumps(
                {"type": "about:blank", "title": "Content Too Large", "status": 413, "detail": sentence}
            )
        headers = [(b"content-type", kind), (b"connection", b"close"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": text.encode()})
