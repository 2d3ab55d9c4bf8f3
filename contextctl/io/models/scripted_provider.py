"""``scripted/<file>`` as a litellm provider, so that other code's litellm calls replay it too.

contextctl's own runs use the script directly and need no litellm for it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

from contextctl.io.models.faults import ModelFault
from contextctl.io.models.litellm_gate import load_litellm
from contextctl.io.models.scripted import SCRIPTED, Script, open_script
from contextctl.model.reply import Reply, Request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from contextctl.model.message import JsonObject

_PROVIDER = SCRIPTED.rstrip("/")


def register_scripted_provider() -> None:
    """Make ``litellm.completion(model="scripted/<file>")`` work in this process. Idempotent.

    Each file is one script for the whole process; ``metadata={"task": …}`` of a call picks a task's
    own place in it. Relative paths start at the working directory.
    """
    litellm = load_litellm()
    if any(entry["provider"] == _PROVIDER for entry in litellm.custom_provider_map):
        return
    entry = {"provider": _PROVIDER, "custom_handler": _provider_class(litellm)()}
    litellm.custom_provider_map = [*litellm.custom_provider_map, entry]
    litellm.utils.custom_llm_setup()


def _provider_class(litellm: Any) -> Any:
    """The class is made here because its base exists only once litellm is loaded."""
    from litellm.llms.custom_llm import CustomLLM, CustomLLMError  # loaded late

    class Scripted(CustomLLM):  # type: ignore[misc]  # litellm is untyped here
        def __init__(self) -> None:
            super().__init__()
            self._scripts: dict[str, Script] = {}
            self._lock = threading.Lock()

        def _reply(self, model: str, messages: list[JsonObject], given: Mapping[str, Any]) -> Reply:
            with self._lock:
                if model not in self._scripts:
                    self._scripts[model] = open_script(SCRIPTED + model)
            tools = (given.get("optional_params") or {}).get("tools") or []
            metadata = (given.get("litellm_params") or {}).get("metadata") or {}
            request = Request(tuple(messages), tuple(tools), task=str(metadata.get("task") or ""))
            try:
                return self._scripts[model].reply(request)
            except ModelFault as fault:
                status = fault.status or (400 if fault.kind == "script" else 500)
                raise CustomLLMError(status, fault.message) from fault

        def completion(self, model: str, messages: list[JsonObject], **given: Any) -> Any:
            return _response(litellm, model, self._reply(model, messages, given))

        async def acompletion(self, model: str, messages: list[JsonObject], **given: Any) -> Any:
            return self.completion(model, messages, **given)

        def streaming(
            self, model: str, messages: list[JsonObject], **given: Any
        ) -> Iterator[dict[str, Any]]:
            yield from _chunks(self._reply(model, messages, given))

        async def astreaming(
            self, model: str, messages: list[JsonObject], **given: Any
        ) -> AsyncIterator[dict[str, Any]]:
            for chunk in self.streaming(model, messages, **given):
                yield chunk

    return Scripted


def _response(litellm: Any, model: str, reply: Reply) -> Any:
    choice = {
        "index": 0,
        "finish_reason": reply.finish_reason,
        "message": reply.message.to_openai(),
    }
    response = litellm.ModelResponse(model=SCRIPTED + model, choices=[choice])
    if (usage := _usage(reply)) is not None:
        response.usage = litellm.Usage(**usage)
    return response


def _chunks(reply: Reply) -> Iterator[dict[str, Any]]:
    """The reply as litellm's generic chunks: its text, then each call, then the end."""
    chunk: dict[str, Any] = {
        "text": "",
        "tool_use": None,
        "is_finished": False,
        "finish_reason": "",
        "usage": None,
        "index": 0,
    }
    if reply.message.text:
        yield {**chunk, "text": reply.message.text}
    for place, call in enumerate(reply.message.tool_calls):
        yield {**chunk, "tool_use": {**call.to_openai(), "index": place}}
    yield {
        **chunk,
        "is_finished": True,
        "finish_reason": reply.finish_reason,
        "usage": _usage(reply),
    }


def _usage(reply: Reply) -> dict[str, int] | None:
    if reply.usage is None:
        return None
    prompt, completion = reply.usage.prompt_tokens, reply.usage.completion_tokens
    return cast(
        "dict[str, int]",
        {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        },
    )
