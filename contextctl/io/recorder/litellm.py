"""Recording at litellm's functions: every provider, in OpenAI chat form."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any

from contextctl.io.recorder.http import above
from contextctl.io.traces.sse import join_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from contextctl.io.recorder.tape import Tape
    from contextctl.model.message import JsonObject

FUNCTIONS = ("completion", "acompletion")


class RecordedModule:
    """litellm, or a Router, with its completions recorded; everything else as it was."""

    def __init__(self, inner: Any, tape: Tape) -> None:
        self._inner = inner
        for name in FUNCTIONS:
            if callable(getattr(inner, name, None)):
                setattr(self, name, recorded(getattr(inner, name), tape))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def recorded(call: Callable[..., Any], tape: Tape) -> Callable[..., Any]:
    """``completion`` or ``acompletion``, writing what it was asked and what came back."""
    if call.__name__ == "acompletion":

        @functools.wraps(call)
        async def acompletion(*args: Any, **kwargs: Any) -> Any:
            mark, written = above.set(True), _Written(tape, args, kwargs)
            try:
                reply = await call(*args, **kwargs)
            except BaseException as error:
                written.failed(error)
                raise
            finally:
                above.reset(mark)
            return written.replied(reply)

        return acompletion

    @functools.wraps(call)
    def completion(*args: Any, **kwargs: Any) -> Any:
        mark, written = above.set(True), _Written(tape, args, kwargs)
        try:
            reply = call(*args, **kwargs)
        except BaseException as error:
            written.failed(error)
            raise
        finally:
            above.reset(mark)
        return written.replied(reply)

    return completion


class _Written:
    """One call on its way: what was asked is kept as it was when it was asked."""

    def __init__(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        named = dict(zip(("model", "messages"), args, strict=False)) | kwargs
        key = named.get("api_key")
        tape.hide(key if isinstance(key, str) else None)
        self._tape, self._begun = tape, time.monotonic()
        self._request: JsonObject = tape.snapshot(named)

    def replied(self, reply: Any) -> Any:
        if hasattr(reply, "choices") or not hasattr(reply, "__next__"):
            self.write(reply)
            return reply
        return _Stream(reply, self)

    def write(self, response: object) -> None:
        seconds = time.monotonic() - self._begun
        self._tape.write("openai", self._request, response, seconds=seconds)

    def failed(self, error: BaseException) -> None:
        seconds, reason = time.monotonic() - self._begun, f"{type(error).__name__}: {error}"
        self._tape.write("openai", self._request, None, error=reason, seconds=seconds)

    def streamed(self, chunks: list[Any]) -> None:
        try:
            self.write(join_values(chunk.model_dump(exclude_none=True) for chunk in chunks))
        except Exception:  # noqa: BLE001  # recording must never break the call it records
            self._tape.failed()


class _Stream:
    """A stream as it was, keeping its chunks; written when it ends, is closed or is forgotten."""

    def __init__(self, inner: Any, written: _Written) -> None:
        self._inner, self._written, self._chunks = inner, written, list[Any]()
        self._open = True

    @property  # type: ignore[misc]  # the one attribute of object that a wrapper must shadow
    def __class__(self) -> type:
        """Callers that ask for litellm's own stream class still get a yes."""
        return type(self._inner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __iter__(self) -> _Stream:
        return self

    def __aiter__(self) -> _Stream:
        return self

    def __next__(self) -> Any:
        try:
            chunk = next(self._inner)
        except BaseException:
            self._end()
            raise
        self._chunks.append(chunk)
        return chunk

    async def __anext__(self) -> Any:
        try:
            chunk = await anext(self._inner)
        except BaseException:
            self._end()
            raise
        self._chunks.append(chunk)
        return chunk

    def __del__(self) -> None:
        self._end()

    def _end(self) -> None:
        if self._open:
            self._open = False
            self._written.streamed(self._chunks)
