"""One server's connection: opened, held, opened again when it broke, closed with its process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from contextctl.io.mcp.listing import Listing, listing, read_pages
from contextctl.io.mcp.stdio import Child, child_streams
from contextctl.model.message import JsonObject
from contextctl.model.tool_rules import McpServer

_TRIES = 3
"""Connections in a row that may fail before the server is given up for this run."""
_CLOSE_S = 8.0
_WRITE_S = 2.0  # beyond its time limit, for a call that the server does not take in
_HTTP_STAND_INS = ("Server returned an error response", "Not Found")
"""What the SDK says of an HTTP error without its status."""
_LARGEST_EVENT = 256 * 1024 * 1024  # bytes; an image in one event is larger than the SDK's 1 MB


class ServerFault(Exception):
    """The server could not do what was asked; the text says why. ``sent``: it may have begun."""

    def __init__(self, reason: str, *, sent: bool = False) -> None:
        self.sent = sent
        super().__init__(reason)


@dataclass(frozen=True)
class Address:
    """Where a server is. ``words`` is its command with files found beside the profile."""

    name: str
    rule: McpServer = field(repr=False)
    words: tuple[str, ...] = ()


class _Line:
    """What is known of the way to a server beside its messages: its process, its HTTP status."""

    def __init__(self) -> None:
        self.child: Child | None = None
        self.status = ""
        """The last answer that was an error, such as ``HTTP 401 Unauthorized``."""

    def remark(self) -> str:
        """What a server that does not answer said instead, for a person."""
        said = self.status if self.child is None else self.child.said() or self.child.noise
        return f"; it said '{said}'" if said else ""

    async def fault(self, error: Exception) -> str:
        """An error in one line, with how the process ended or what HTTP said."""
        reason = reason_of(error)
        if self.child is None:
            return self.status if reason in _HTTP_STAND_INS and self.status else reason
        last = await self.child.last_words()
        if _is_end(error):
            return f"it ended ({last})" if last else "it closed the connection"
        return f"{reason} ({last})" if last else reason

    async def see(self, response: Any) -> None:
        """Note the status of an HTTP answer."""
        if response.status_code >= 400:
            self.status = f"HTTP {response.status_code} {response.reason_phrase}".rstrip()


class _Held:
    """One connection, kept by one task from its first to its last moment, as the SDK wants it."""

    def __init__(self, address: Address, list_changed: Callable[[], None]) -> None:
        self.session: Any = None
        self.noise = ""
        self.line = _Line()
        self.over = asyncio.Event()
        self._address = address
        self._list_changed = list_changed
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold())

    async def ready(self) -> None:
        """Wait until it can be used. Raises ``ServerFault``."""
        limit = self._address.rule.timeout_s
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), limit)
        except TimeoutError:
            remark = self.line.remark()
            await self.end()
            raise ServerFault(f"it did not answer within {limit:g} s{remark}") from None

    async def end(self) -> None:
        """Let it go and wait until its process is gone."""
        self.over.set()
        if not self._ready.done():
            self._task.cancel()
        done, _ = await asyncio.wait([self._task], timeout=_CLOSE_S)
        if not done:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=_CLOSE_S)

    async def _hold(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                await self._serve(stack)
        except asyncio.CancelledError:
            self._fail(ServerFault("it was stopped"))
        except BaseException as error:  # noqa: BLE001  # told to whoever waits for it, or to nobody
            self._fail(ServerFault(reason_of(error)))
        finally:
            self.over.set()

    async def _serve(self, stack: AsyncExitStack) -> None:
        from contextctl.io.mcp.session import Dispatcher, client_session, shake_hands

        read, write = await stack.enter_async_context(_streams(self._address, self.line))
        dispatcher = Dispatcher(read, write)
        timeout_s = self._address.rule.timeout_s
        session = client_session(dispatcher, timeout_s, self._list_changed)
        await stack.enter_async_context(session)
        try:
            await shake_hands(session)
        except Exception as error:  # the SDK raises whatever the server or the transport said
            raise ServerFault(await self.line.fault(error)) from error
        self.session = session
        child = self.line.child
        self.noise = child.noise if child is not None else ""
        if not self._ready.done():
            self._ready.set_result(None)
        waits = [asyncio.create_task(event.wait()) for event in (dispatcher.over, self.over)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.over.set()
            for wait in waits:
                wait.cancel()

    def _fail(self, fault: ServerFault) -> None:
        if not self._ready.done():
            self._ready.set_exception(fault)
            self._ready.exception()  # it may be that nobody waits any more


class Connection:
    """A server, connected when it is needed. It lives and runs in one event loop."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.changed = False
        """The server's tools are others now, or it was connected anew."""
        self._held: _Held | None = None
        self._lock = asyncio.Lock()
        self._failures = 0
        self._closed = False

    async def listed(self) -> Listing:
        """The server's tools now. Raises ``ServerFault``."""
        from contextctl.io.mcp.session import tools_page

        rule = self.address.rule
        try:
            async with asyncio.timeout(rule.timeout_s):
                held = await self._live()
                self.changed = False
                tools, warnings = await read_pages(lambda at: tools_page(held.session, at))
        except TimeoutError:
            remark = "" if self._held is None else self._held.line.remark()
            text = f"it did not list its tools within {rule.timeout_s:g} s{remark}"
            raise ServerFault(text) from None
        except ServerFault:
            raise
        except Exception as error:  # the SDK raises whatever the transport raised
            raise ServerFault(f"its tools cannot be listed: {reason_of(error)}") from error
        if held.noise:
            warnings.append(f"it writes to stdout what is no message ('{held.noise}')")
        if not tools:
            warnings.append("it offers no tools")
        return listing(tools, rule.include, warnings)

    async def call(self, tool: str, arguments: JsonObject) -> JsonObject:
        """The raw answer to a call. Raises ``ServerFault``."""
        from contextctl.io.mcp.session import NotSent

        for _ in range(2):
            held = await self._live()
            with suppress(NotSent):
                return await self._asked(held, tool, arguments)
            held.over.set()
        raise ServerFault("its connection broke before the call was sent")

    async def _asked(self, held: _Held, tool: str, arguments: JsonObject) -> JsonObject:
        from mcp.shared.exceptions import MCPError

        from contextctl.io.mcp.session import NotSent, is_closed, is_gone, is_late, tool_result

        limit = self.address.rule.timeout_s
        try:
            async with asyncio.timeout(limit + _WRITE_S):
                return await tool_result(held.session, tool, arguments)
        except NotSent:
            raise
        except TimeoutError:  # the SDK's own limit begins when all of a call is written
            held.over.set()
            raise ServerFault("it does not read what it is sent", sent=True) from None
        except MCPError as error:
            if is_gone(error):
                raise NotSent from error
            if is_late(error):
                raise ServerFault(f"no answer within {limit:g} s", sent=True) from error
            if is_closed(error):
                child = held.line.child
                last = "" if child is None else await child.last_words()
                held.over.set()
                how = f" ({last})" if last else ""
                raise ServerFault(
                    f"it ended while the call was under way{how}", sent=True
                ) from error
            if error.error.message in _HTTP_STAND_INS:
                raise ServerFault(await held.line.fault(error), sent=True) from error
            return _error_result(error.error.message)
        except Exception as error:  # the SDK refuses an answer, or the transport fails
            raise ServerFault(reason_of(error), sent=True) from error

    async def close(self) -> None:
        """End the connection, and the process where there is one."""
        self._closed = True
        if self._held is not None:
            await self._held.end()

    async def _live(self) -> _Held:
        """The connection, a new one when the old one is over. Raises ``ServerFault``."""
        async with self._lock:
            old = self._held
            if old is not None and not old.over.is_set():
                return old
            if self._closed:
                raise ServerFault("the run is over")
            if self._failures >= _TRIES:
                raise ServerFault(f"it was given up after {_TRIES} connections that failed")
            if old is not None:
                await old.end()
            self._failures += 1
            self._held = held = _Held(self.address, self._list_changed)
            await held.ready()
            self._failures = 0
            self.changed = old is not None
            return held

    def _list_changed(self) -> None:
        self.changed = True


@asynccontextmanager
async def _streams(address: Address, line: _Line) -> AsyncIterator[tuple[Any, Any]]:
    rule = address.rule
    if rule.url is None:
        async with child_streams(address.words, rule.env) as (read, write, child):
            line.child = child
            yield read, write
        return
    async with _http_streams(rule.url, rule.headers, rule.timeout_s, line) as (read, write):
        yield read, write


@asynccontextmanager
async def _http_streams(
    url: str, headers: Mapping[str, str], timeout_s: float, line: _Line
) -> AsyncIterator[tuple[Any, Any]]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    timeout = httpx2.Timeout(timeout_s, read=max(300.0, timeout_s))
    async with (
        httpx2.AsyncClient(
            headers=dict(headers), timeout=timeout, event_hooks={"response": [line.see]}
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=_LARGEST_EVENT) as (
            read,
            write,
        ),
    ):
        yield read, write


def _is_end(error: Exception) -> bool:
    from mcp.shared.exceptions import MCPError

    from contextctl.io.mcp.session import is_closed

    return isinstance(error, MCPError) and is_closed(error)


def reason_of(error: BaseException) -> str:
    """An error in one line: of a group the first that says something."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, FileNotFoundError):
        return f"there is no program '{error.filename}'"
    text = str(error).strip().splitlines()
    name = type(error).__name__
    if isinstance(error, ServerFault) or name == "MCPError":
        return text[0] if text else name
    return f"{name}: {text[0]}" if text else name


def _error_result(message: str) -> JsonObject:
    """A protocol error as the result that a failing tool would have given."""
    return {"content": [{"type": "text", "text": f"error: {message}"}], "isError": True}
