"""Recording at the HTTP client that the OpenAI and Anthropic SDKs share.

Streams, raw responses, parsed ones and the async twins all pass here, in their provider's own
form. Bytes go through untouched; they are only looked at when the response is closed.
"""

from __future__ import annotations

import importlib
import json
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from contextctl.errors import UsageError
from contextctl.io.traces.draft import as_object
from contextctl.io.traces.sse import join_events

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from contextctl.io.recorder.tape import Tape

# The two generations of the client, with one interface.
HTTP_MODULES = ("httpx", "httpx2")
_APIS = {"/chat/completions": "openai", "/responses": "responses", "/messages": "anthropic"}
_SECRET_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
_STARTED = "contextctl_started"

# True while a call is recorded further up (litellm calls the SDKs), so that it is written once.
above: ContextVar[bool] = ContextVar("contextctl_recorded_above", default=False)


def record_client(client: Any, tape: Tape) -> None:
    """Record every call of one SDK client from now on. Raises ``UsageError`` for other objects."""
    http: Any = getattr(client, "_client", None)
    if http_module(http) is None:
        raise UsageError(
            f"cannot record a {type(client).__module__}.{type(client).__name__}: give an OpenAI or "
            "Anthropic client, litellm, or use 'with record(path):'"
        )
    hooks = http.event_hooks
    if hasattr(http, "aclose"):
        hooks["request"].append(_async_start)
        hooks["response"].append(_async_hook(tape))
    else:
        hooks["request"].append(_start)
        hooks["response"].append(lambda response: watch(response, tape))
    http.event_hooks = hooks


def http_module(http: object) -> Any:
    """The module whose client this is, or None."""
    for base in type(http).__mro__:
        top = base.__module__.partition(".")[0]
        if top in HTTP_MODULES:
            return importlib.import_module(top)
    return None


def watch(response: Any, tape: Tape, started: float = 0.0) -> None:
    """Record a response when it is closed, or now if it is. Never raises."""
    try:
        api = _api(response.request)
        if not api or above.get():
            return
        begun = started or response.request.extensions.get(_STARTED, 0.0)
        if response.is_closed:
            _write(response, response.content, api, tape, begun)
            return
        module = http_module(response)

        def finish(raw: bytes) -> None:
            # The client that is built for it undoes the compression of the wire.
            coding = response.headers.get("content-encoding", "identity")
            whole = module.Response(200, headers={"content-encoding": coding}, content=raw)
            _write(response, whole.content, api, tape, begun)

        response.stream = _tee(module, response.stream, finish, tape)
    except Exception:  # noqa: BLE001  # recording must never break the call it records
        tape.failed()


def _write(response: Any, content: bytes, api: str, tape: Tape, begun: float) -> None:
    request = response.request
    for header in _SECRET_HEADERS:
        tape.hide(request.headers.get(header, "").removeprefix("Bearer ").strip())
    body = tape.snapshot(as_object(json.loads(request.content)))
    seconds = time.monotonic() - begun if begun else 0.0
    text = content.decode("utf-8", "replace")
    if response.status_code >= 400:
        error = f"HTTP {response.status_code}: {text}"
        tape.write(api, body, None, error=error, seconds=seconds)
        return
    streamed = "text/event-stream" in response.headers.get("content-type", "")
    reply = join_events(text) if streamed else as_object(json.loads(text))
    tape.write(api, body, reply, seconds=seconds)


def _api(request: Any) -> str:
    path = request.url.path.rstrip("/")
    found = (api for suffix, api in _APIS.items() if path.endswith(suffix))
    return next(found, "") if request.method == "POST" else ""


def _start(request: Any) -> None:
    request.extensions[_STARTED] = time.monotonic()


async def _async_start(request: Any) -> None:
    _start(request)


def _async_hook(tape: Tape) -> Callable[[Any], Any]:
    async def hook(response: Any) -> None:
        watch(response, tape)

    return hook


class _Finish:
    """Hands the bytes over once, whatever closes the stream first. Never raises."""

    def __init__(self, done: Callable[[bytes], None], tape: Tape) -> None:
        self.chunks: list[bytes] = []
        self._done, self._tape, self._open = done, tape, True

    def __call__(self) -> None:
        if not self._open:
            return
        self._open = False
        try:
            self._done(b"".join(self.chunks))
        except Exception:  # noqa: BLE001  # recording must never break the call it records
            self._tape.failed()


def _tee(module: Any, inner: Any, done: Callable[[bytes], None], tape: Tape) -> Any:
    """``inner`` as it is, with a copy of its bytes for ``done`` at the end."""
    finish = _Finish(done, tape)

    class Sync(module.SyncByteStream):  # type: ignore[misc]  # the base is found at run time
        def __iter__(self) -> Iterator[bytes]:
            for chunk in inner:
                finish.chunks.append(chunk)
                yield chunk
            finish()

        def close(self) -> None:
            inner.close()
            finish()

    class Async(module.AsyncByteStream):  # type: ignore[misc]  # the base is found at run time
        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in inner:
                finish.chunks.append(chunk)
                yield chunk
            finish()

        async def aclose(self) -> None:
            await inner.aclose()
            finish()

    return Async() if hasattr(inner, "__aiter__") else Sync()
