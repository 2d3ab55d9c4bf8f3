"""The SDK's session, less its strictness about a whole answer for one bad part of it.

The SDK checks an answer as one value: a list of tools with one schema that is none, or a result
with one block of a kind it does not know, is refused whole. So the answers are taken here before it
looks, and it is handed what it will accept.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from mcp import ClientSession
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import (
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    ListToolsRequest,
    ListToolsResult,
    PaginatedRequestParams,
    ToolListChangedNotification,
)

from contextctl.io.mcp.schemas import Unusable, mended
from contextctl.model.message import JsonObject
from contextctl.version import __version__

# The SDK reports what a server does wrong with tracebacks on stderr; here it is told in a sentence.
logging.getLogger("mcp").setLevel(logging.CRITICAL)

_taken: ContextVar[list[JsonObject]] = ContextVar("taken")
# What is said of a session that a server does not know (any more): by the SDK, by its servers in
# Python and TypeScript, and by many written after them.
_GONE = re.compile(
    r"session (?:(?:has been )?terminated|not found|(?:has )?expired|does not exist)"
    r"|(?:no valid|unknown|invalid) session|server not initialized",
    re.IGNORECASE,
)


_CLOSED = re.compile(r"^(?:Connection closed|SSE stream)")
_LATE = re.compile(r"^Request '.*' timed out$")
_NO_SUCH_PAGE = "Not Found"
"""What the SDK says for HTTP 404: there is no server at that address."""


class NotSent(Exception):
    """The connection was over before the request left: asking again on a new one is safe."""


class Dispatcher(JSONRPCDispatcher[Any]):
    """Sends requests; keeps each raw answer for whoever asked. ``over`` is set at the end."""

    def __init__(self, read: Any, write: Any) -> None:
        super().__init__(read, write)
        self.over = asyncio.Event()

    async def run(self, *args: Any, **kwargs: Any) -> None:
        """Read messages until the server's side ends."""
        try:
            await super().run(*args, **kwargs)
        finally:
            self.over.set()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Ask. The raw answer goes to ``_taken``; the SDK gets the part of it that it needs."""
        if self.over.is_set():
            raise NotSent
        raw = await super().send_raw_request(method, params, opts, **kwargs)
        if method == "initialize":
            return _introduced(raw)
        taken = _taken.get(None)
        if taken is None:
            return raw
        taken.append(raw)
        if method == "tools/list":
            return {**_without(raw, "nextCursor"), "tools": list(_acceptable(raw.get("tools")))}
        if method == "tools/call" and raw.get("resultType") in (None, "complete"):
            return {**_without(raw, "structuredContent", "isError"), "content": []}
        return raw


def client_session(
    dispatcher: Dispatcher, timeout_s: float, list_changed: Callable[[], None]
) -> ClientSession:
    """A session over ``dispatcher``; ``list_changed`` is called when the server's tools change."""

    async def on_message(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            list_changed()

    return ClientSession(
        dispatcher=dispatcher,
        read_timeout_seconds=timeout_s,
        message_handler=on_message,
        client_info=Implementation(name="contextctl", version=__version__),
    )


async def shake_hands(session: ClientSession) -> None:
    """Agree on a version: by ``initialize``, else by ``server/discover`` of newer servers."""
    try:
        await session.initialize()
    except MCPError as error:
        if error.code in (CONNECTION_CLOSED, REQUEST_TIMEOUT):
            raise
        with suppress(MCPError, RuntimeError, ValueError):
            await session.discover()
            return
        raise


async def tools_page(session: ClientSession, cursor: str | None) -> JsonObject:
    """One page of the server's tools, as it sent it. A server that knows no tools has none."""
    params = PaginatedRequestParams(cursor=cursor) if cursor is not None else None
    request = ListToolsRequest(params=params)
    try:
        return await _asked(lambda: session.send_request(request, ListToolsResult))
    except MCPError as error:
        if error.code == METHOD_NOT_FOUND and error.error.message != _NO_SUCH_PAGE:
            return {}
        raise


async def tool_result(session: ClientSession, name: str, arguments: JsonObject) -> JsonObject:
    """The answer to one call, as the server sent it."""
    params = CallToolRequestParams(name=name, arguments=arguments)
    request = CallToolRequest(params=params)
    return await _asked(lambda: session.send_request(request, CallToolResult))


def is_gone(error: MCPError) -> bool:
    """Whether the server no longer knows this session: nothing was run, a new one is needed."""
    return _GONE.search(error.error.message) is not None


def is_closed(error: MCPError) -> bool:
    """Whether the connection ended while the request was under way.

    Servers use the SDK's code for errors of their own, so its words decide too.
    """
    return error.code == CONNECTION_CLOSED and _CLOSED.search(error.error.message) is not None


def is_late(error: MCPError) -> bool:
    """Whether the answer did not come in time. Here too the SDK's words decide."""
    return error.code == REQUEST_TIMEOUT and _LATE.search(error.error.message) is not None


async def _asked(request: Callable[[], Awaitable[Any]]) -> JsonObject:
    taken: list[JsonObject] = []
    token = _taken.set(taken)
    try:
        await request()
    finally:
        _taken.reset(token)
    return taken[-1]


def _introduced(raw: Mapping[str, Any]) -> dict[str, Any]:
    """An answer to ``initialize`` with what servers forget: their name, what they can do."""
    about = raw.get("serverInfo")
    info = about if isinstance(about, dict) else {}
    named = {"name": "server", "version": "0", **{k: v for k, v in info.items() if v is not None}}
    able = raw.get("capabilities")
    return {**raw, "serverInfo": named, "capabilities": able if isinstance(able, dict) else {}}


def _without(raw: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in raw.items() if key not in keys}


def _acceptable(tools: Any) -> Any:
    """Names and mended schemas: what the SDK needs to send a call's arguments rightly."""
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict) and isinstance(tool.get("name"), str):
            with suppress(Unusable, RecursionError):
                yield {"name": tool["name"], "inputSchema": mended(tool.get("inputSchema"))}
