"""Anthropic Messages: request bodies, one document or one a line, or bare lists of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.io.traces.draft import as_list, as_object, as_text
from contextctl.io.traces.exchanges import Conversation, api_of, join

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.message import Json, JsonObject
    from contextctl.model.trace import Trace

NAME = "anthropic"


def recognises(source: Source) -> bool:
    """Whether the values are requests of the Messages API and not of OpenAI chat."""
    return any(
        body is not None and api_of(body, {}) == "anthropic"
        for body in (_request(value) for value in source.head)
    )


def read(source: Source) -> Iterator[Trace]:
    """Every conversation; requests that continue each other are one."""
    joined: list[Conversation] = []
    for line, value in source.values():
        body = _request(value)
        if body is None:
            keys = ", ".join(list(as_object(value))[:6])
            source.warn(line, f"skipped: no messages here (keys: {keys or 'none'})")
            continue
        join(joined, as_text(body.get("id")), body, {}, source, line, NAME)
    for conversation in joined:
        yield conversation.draft.trace()


def _request(value: Json) -> JsonObject | None:
    if isinstance(value, list):
        messages = all(as_object(item).get("role") in ("user", "assistant") for item in value)
        return {"messages": value} if value and messages else None
    body = as_object(value)
    return body if as_list(body.get("messages")) else None
