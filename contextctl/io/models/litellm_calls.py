"""One call to a provider through litellm, whole or streamed."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from contextctl.io.models.faults import ModelFault, fault_from
from contextctl.io.models.litellm_gate import load_litellm
from contextctl.io.models.litellm_reply import Target, reply_from_body
from contextctl.io.models.stdout_guard import drop, stdout_to
from contextctl.io.text.unicode import whole_json

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from contextctl.model.message import Json, JsonObject
    from contextctl.model.reply import Reply, Request

_NEEDS_TOOLS = ("tool_choice", "parallel_tool_calls")
_NO_KEY = "not-needed"  # local servers want no key, but the client insists on one


def send(target: Target, request: Request, stop: threading.Event | None = None) -> Reply:
    """Ask once. Raises ``ModelFault`` whatever goes wrong outside; nothing reaches stdout."""
    arguments = call_arguments(target, request)
    started = time.monotonic()
    with stdout_to(drop):
        litellm = load_litellm()
        try:
            if arguments.get("stream"):
                response, reported, first = _streamed(litellm, arguments, started, stop)
            else:
                response, first = litellm.completion(**arguments), None
                reported = True
        except ModelFault:
            raise
        except Exception as error:  # litellm raises whatever its provider's client raised
            raise fault_from(error) from error
        body = response.model_dump(exclude_none=True)
    reply = reply_from_body(target, body, usage_reported=reported)
    return replace(reply, first_token_s=first, duration_s=time.monotonic() - started)


def call_arguments(target: Target, request: Request) -> dict[str, Any]:
    """The keyword arguments of ``litellm.completion`` for one request."""
    arguments: dict[str, Any] = {**target.params, **request.params}
    if not request.tools:
        for key in _NEEDS_TOOLS:
            arguments.pop(key, None)
    for key in ("max_tokens", "max_completion_tokens", "num_retries"):
        arguments.pop(key, None)
    if request.stream is not None:
        arguments["stream"] = request.stream
    if arguments.get("stream"):
        asked = arguments.get("stream_options")
        arguments["stream_options"] = {
            **(asked if isinstance(asked, dict) else {}),
            "include_usage": True,
        }
    arguments.update(
        model=_litellm_name(target),
        messages=_sendable(request.messages),
        max_tokens=request.max_tokens or target.max_tokens,
        timeout=target.timeout_s,
        max_retries=0,
    )
    if request.tools:
        arguments["tools"] = _sendable(request.tools)
    if target.api_base:
        arguments["api_base"] = target.api_base
        if target.provider == "local" or (target.provider == "openai" and not _has_key()):
            arguments.setdefault("api_key", _NO_KEY)
    return arguments


def _has_key() -> bool:
    return bool(os.environ.get("OPENAI_API_KEY"))


def _litellm_name(target: Target) -> str:
    """``local/<name>`` is any OpenAI-compatible server at ``api_base``."""
    if target.provider == "local":
        return "openai/" + target.name.removeprefix("local/")
    return target.name


def _sendable(items: tuple[JsonObject, ...]) -> list[Json]:
    """The dicts as they are, or repaired where a text cannot be written as UTF-8."""
    plain = cast("list[Json]", list(items))
    try:
        json.dumps(plain, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return cast("list[Json]", whole_json(plain))
    return plain


def _streamed(
    litellm: Any, arguments: Mapping[str, Any], started: float, stop: threading.Event | None
) -> tuple[Any, bool, float | None]:
    """The assembled answer, whether the provider reported usage, and seconds to the first token.

    Without a reported usage litellm makes one up from its own count, which must not pass for the
    provider's.
    """
    stream = litellm.completion(**arguments)
    chunks: list[Any] = []
    first: float | None = None
    for chunk in stream:
        if stop is not None and stop.is_set():
            stream.close()
            raise ModelFault("stopped", "stopped while the answer was arriving")
        if first is None and _has_token(chunk):
            first = time.monotonic() - started
        chunks.append(chunk)
    if not chunks:
        raise ModelFault("garbled", "the stream ended before anything arrived")
    seen = getattr(stream, "chunks", chunks)
    reported = any(getattr(chunk, "usage", None) is not None for chunk in seen)
    response = litellm.stream_chunk_builder(chunks)
    if response is None:
        raise ModelFault("garbled", "the stream held no answer")
    return response, reported, first


def _has_token(chunk: Any) -> bool:
    for choice in getattr(chunk, "choices", None) or ():
        delta = getattr(choice, "delta", None)
        if any(getattr(delta, key, None) for key in ("content", "tool_calls", "reasoning_content")):
            return True
    return False
