"""Cline sessions: Anthropic blocks with files inside, token counts on every reply.

Both forms are read: a document with ``sessionId`` and ``messages``, and the older bare list of
``api_conversation_history.json`` (which is plain Anthropic messages and is read as those).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.io.traces.blocks import add_anthropic
from contextctl.io.traces.draft import Draft, as_list, as_object, as_text
from contextctl.io.traces.usage import usage_fact
from contextctl.model.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.message import Json, JsonObject
    from contextctl.model.trace import Trace

NAME = "cline"


def recognises(source: Source) -> bool:
    """Whether a document has a session id, and messages with time stamps and blocks."""
    return any(
        isinstance(value, dict)
        and "sessionId" in value
        and any("ts" in as_object(item) for item in as_list(value.get("messages"))[:3])
        for value in source.head
    )


def read(source: Source) -> Iterator[Trace]:
    """One trace a document."""
    for _, value in source.values():
        body = as_object(value)
        draft = Draft(as_text(body.get("sessionId")), NAME)
        if body.get("system_prompt"):
            draft.add(Message("system", as_text(body["system_prompt"])))
        for item in as_list(body.get("messages")):
            message = as_object(item)
            blocks = message.get("content")
            if isinstance(blocks, list):
                blocks = [_block(as_object(block)) for block in blocks]
            add_anthropic(draft, {"role": message.get("role"), "content": blocks})
            metrics = message.get("metrics")
            if isinstance(metrics, dict):
                model = as_object(message.get("modelInfo")).get("id")
                draft.use(
                    usage_fact({**metrics, "prompt_tokens": metrics.get("inputTokens")}, model)
                )
        yield draft.trace()


def _block(block: JsonObject) -> Json:
    """A file that the user attached is text with its path around it, as Cline sends it."""
    if block.get("type") != "file":
        return block
    path, content = as_text(block.get("path")), as_text(block.get("content"))
    return {"type": "text", "text": f'<file path="{path}">\n{content}\n</file>'}
