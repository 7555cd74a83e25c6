"""The protocol's own client library, set up for one server. Only this module needs the extra `mcp`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.session import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.types import (
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    ToolListChangedNotification,
)

from runs.mcp.servers import Server

_REFUSED = frozenset({-32601, -32602})
"""JSON-RPC's own refusals before a method is carried out: there is none of this name, its parameters don't fit."""


@asynccontextmanager
async def begin(
    server: Server, *, asks: Callable[[str, Any], Any], changed: Callable[[], None]
) -> AsyncIterator[Client]:
    """Give a client whose session is open.

    `asks` is told a question of the server with the schema of its answer, None where a form isn't what it wants; it
    returns what people have answered, and the question is cancelled where that is None. A new list of tools is told to
    `changed`.
    """

    async def asked(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        schema = params.requested_schema if isinstance(params, ElicitRequestFormParams) else None
        answer = asks(str(params.message), schema)
        if answer is None:
            return ElicitResult(action="cancel")
        return ElicitResult(action="accept", content=answer)

    async def told(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed()

    async with AsyncExitStack() as held:
        where: Any
        if server.url:
            http = await held.enter_async_context(httpx2.AsyncClient(headers=server.headers))
            where = streamable_http_client(server.url, http_client=http)
        else:
            where = StdioServerParameters(
                command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd
            )
        client = Client(where, elicitation_callback=asked, message_handler=told, cache=None)
        yield await held.enter_async_context(client)


def refusal(error: BaseException) -> str:
    """Return why a server refused a call before it was carried out, or an empty text where it isn't that."""
    refused = isinstance(error, MCPError) and error.code in _REFUSED
    return str(error) if refused else ""
