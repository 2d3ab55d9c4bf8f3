"""Recording real model calls into a trace file that ``contextctl replay`` reads.

    from contextctl import record
    client = record(OpenAI(), "trace.jsonl")        # or Anthropic(), or their async twins
    llm = record(litellm, "trace.jsonl")            # llm.completion, llm.acompletion
    with record("trace.jsonl"): …                   # everything those libraries send meanwhile

Headers are never written, keys in parameters and texts are masked, and a failure to record never
reaches the call.
"""

from __future__ import annotations

import functools
import sys
import time
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast, overload

from contextctl.errors import UsageError
from contextctl.io.recorder.http import HTTP_MODULES, record_client, watch
from contextctl.io.recorder.litellm import FUNCTIONS, RecordedModule, recorded
from contextctl.io.recorder.tape import Tape

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

T = TypeVar("T")


@overload
def record(target: str | PathLike[str], *, trace: str = "") -> Recording: ...
@overload
def record(target: T, path: str | PathLike[str], *, trace: str = "") -> T: ...
def record(target: Any, path: str | PathLike[str] | None = None, *, trace: str = "") -> Any:
    """Record the calls of a client, of litellm or a Router, or of a ``with`` block.

    ``target`` is the client, the module or the Router, and ``path`` the trace file, created with
    mode 0600 or appended to; or ``target`` is the trace file alone. ``trace`` names the
    conversation; later ones of the same recorder get a number. A client is returned as it came, now
    recording; litellm is returned wrapped, and the module itself stays as it was. Raises
    ``UsageError`` for a target it cannot record.
    """
    if path is None:
        if not isinstance(target, (str, PathLike)):
            raise UsageError("record() needs a trace file: record(client, 'trace.jsonl')")
        return Recording(Tape(target, trace=trace))
    tape = Tape(path, trace=trace)
    if any(callable(getattr(target, name, None)) for name in FUNCTIONS):
        return RecordedModule(target, tape)
    record_client(target, tape)
    return target


class Recording:
    """A ``with`` block whose model calls are recorded, in every thread, until it ends.

    Only libraries that are imported before the block begins are seen. ``tape.failures`` counts
    calls that could not be written.
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self._undo: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Self:
        for name in HTTP_MODULES:
            module = sys.modules.get(name)
            if module is not None:
                self._patch(module.Client, "send", self._send)
                self._patch(module.AsyncClient, "send", self._asend)
        litellm = sys.modules.get("litellm")
        for name in FUNCTIONS if litellm is not None else ():
            self._patch(litellm, name, lambda real: recorded(real, self.tape))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for owner, name, real in reversed(self._undo):
            setattr(owner, name, real)
        self._undo.clear()

    def _patch(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        real = getattr(owner, name)
        self._undo.append((owner, name, real))
        setattr(owner, name, wrap(real))

    def _send(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def send(*args: Any, **kwargs: Any) -> Any:
            begun = time.monotonic()
            response = real(*args, **kwargs)
            watch(response, self.tape, begun)
            return response

        return send

    def _asend(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        async def send(*args: Any, **kwargs: Any) -> Any:
            begun = time.monotonic()
            response = await real(*args, **kwargs)
            watch(response, self.tape, begun)
            return response

        return cast("Callable[..., Any]", send)
