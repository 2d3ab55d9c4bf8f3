"""What litellm answered, as a ``Reply``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from contextctl.io.models.faults import ModelFault
from contextctl.io.text.unicode import whole_characters, whole_json
from contextctl.model.message import Json, Message, ToolCall
from contextctl.model.prices import ModelFacts, cost_usd
from contextctl.model.reply import Reply
from contextctl.model.usage import usage_from_provider

# OpenAI's chat form refuses message fields it does not know; other providers, and its Responses
# form, lose thinking blocks and search results unless the whole message comes back.
_STRICT_PROVIDERS = frozenset({"openai", "azure", "local"})
_OWN_FIELDS = frozenset({"role", "content", "tool_calls", "function_call", "tool_call_id", "name"})


@dataclass(frozen=True, slots=True)
class Target:
    """One model as a profile names it, and how to reach it."""

    name: str
    facts: ModelFacts
    max_tokens: int
    timeout_s: float
    api_base: str | None = field(default=None, repr=False)
    params: Mapping[str, Json] = field(default_factory=dict, repr=False)

    @property
    def provider(self) -> str:
        """``anthropic`` of ``anthropic/claude-…``; empty where litellm finds it by the name."""
        return self.name.partition("/")[0] if "/" in self.name else ""


def reply_from_body(target: Target, body: Mapping[str, Any], *, usage_reported: bool) -> Reply:
    """Read a chat completion. Raises ``ModelFault`` where there is no answer in it.

    ``usage_reported`` False: the usage in ``body`` is not the provider's and is left out.
    """
    choices = body.get("choices") or []
    if not choices:
        raise ModelFault("garbled", "the answer holds no choice")
    choice = choices[0]
    strict = target.provider in _STRICT_PROVIDERS and "/responses/" not in target.name
    message = _message(choice.get("message") or {}, strict=strict)
    finish = str(choice.get("finish_reason") or "stop")
    if finish == "tool_calls" and not message.tool_calls:
        raise ModelFault("garbled", "the answer announces tool calls and holds none")
    raw_usage = body.get("usage") or {}
    usage = usage_from_provider(raw_usage, target.name) if usage_reported else None
    if usage is not None and usage.prompt_tokens == 0:
        usage = None  # a chat request has tokens: zeros are litellm's stand-in for nothing reported
    if usage is not None:
        usage = replace(usage, cost_usd=cost_usd(target.facts.prices, usage))
    return Reply(
        message=message,
        usage=usage,
        model=target.name,
        finish_reason=finish,
        cost_known=target.facts.prices is not None,
    )


def _message(raw: Mapping[str, Any], *, strict: bool) -> Message:
    """The assistant message; a call id that is missing or there twice is replaced."""
    calls: list[ToolCall] = []
    for place, call in enumerate(raw.get("tool_calls") or []):
        function = call.get("function") or {}
        given = str(call.get("id") or "")
        taken = {other.id for other in calls}
        call_id = given if given and given not in taken else f"{given or 'call'}_{place}"
        arguments = function.get("arguments")
        text = (
            arguments
            if isinstance(arguments, str)
            else json.dumps(arguments or {}, ensure_ascii=False)
        )
        calls.append(ToolCall(call_id, str(function.get("name") or ""), whole_characters(text)))
    content = raw.get("content")
    extra = {} if strict else dict(_extras(raw))
    return Message(
        role="assistant",
        content=cast("str | list[Json] | None", whole_json(content)),
        tool_calls=tuple(calls),
        extra=extra,
    )


def _extras(raw: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    for key, value in raw.items():
        if key in _OWN_FIELDS or value in (None, "", [], {}):
            continue
        if isinstance(value, dict) and all(inner is None for inner in value.values()):
            continue
        yield key, whole_json(value)
