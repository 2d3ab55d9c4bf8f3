"""Anthropic content blocks as chat messages.

What a server did inside one reply (web search, remote MCP, code execution) becomes a call and its
result, so that their size has an owner. A compaction block and thinking are notes, not messages.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contextctl.io.traces.draft import Draft, as_list, as_object, as_text, tool_call, tool_result
from contextctl.model.message import Message, ToolCall

if TYPE_CHECKING:
    from contextctl.model.message import Json, JsonObject

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")


@dataclass(slots=True)
class _Reply:
    """One assistant message being collected."""

    texts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    cited: bool = False

    def flush(self, draft: Draft) -> None:
        if self.texts or self.calls:
            # Citations cut a sentence into blocks; blocks of their own are paragraphs.
            text = ("" if self.cited else "\n").join(self.texts)
            draft.add(Message("assistant", text or None, tool_calls=tuple(self.calls)))
        self.texts, self.calls, self.cited = [], [], False


def add_anthropic(draft: Draft, raw: JsonObject) -> None:
    """Append one message of the Messages API: its tool results first, as that API wants them."""
    role, content = as_text(raw.get("role")), raw.get("content")
    blocks: list[Json] = [content] if isinstance(content, str) else as_list(content)
    if role == "assistant":
        _add_assistant(draft, blocks)
    elif role == "user":
        results = [block for block in blocks if as_object(block).get("type") == "tool_result"]
        for block in results:
            _add_result(draft, as_object(block))
        rest = [block for block in blocks if block not in results]
        if rest or not results:
            draft.add(Message("user", parts_of(rest)))
    else:
        draft.add(Message(role or "user", parts_of(blocks)))


def parts_of(blocks: list[Json]) -> str | list[Json]:
    """Blocks of a message or a result: text when all are text, else OpenAI parts."""
    parts = [part for block in blocks for part in _parts(block)]
    if all(isinstance(part, dict) and part.get("type") == "text" for part in parts):
        return "\n".join(as_text(as_object(part).get("text")) for part in parts)
    return parts


def system_text(raw: Json) -> str:
    """The ``system`` of a request: text, or text blocks joined by newlines."""
    if isinstance(raw, str):
        return raw
    return "\n".join(as_text(as_object(block).get("text")) for block in as_list(raw))


def _add_assistant(draft: Draft, blocks: list[Json]) -> None:
    reply, told = _Reply(), False
    for value in blocks:
        text: JsonObject = {"type": "text", "text": value}
        block = text if isinstance(value, str) else as_object(value)
        kind = as_text(block.get("type"))
        told = True
        if kind == "text":
            reply.texts.append(as_text(block.get("text")))
            reply.cited = reply.cited or bool(block.get("citations"))
        elif kind in _CALLS:
            reply.calls.append(tool_call(block.get("id"), block.get("name"), block.get("input")))
        elif kind.endswith("tool_result"):
            reply.flush(draft)
            _add_result(draft, block)
        elif kind == "compaction":
            draft.note("compaction", {"summary": block.get("content")})
        elif kind in ("thinking", "redacted_thinking"):
            draft.note("thinking", {"text": block.get("thinking") or ""})
        else:
            draft.note("block", block)
    reply.flush(draft)
    if not told:
        # The agent asked and nothing came: an aborted turn is a turn.
        draft.add(Message("assistant", None))


def _add_result(draft: Draft, block: JsonObject) -> None:
    content = block.get("content")
    call_id, kind = block.get("tool_use_id"), as_text(block.get("type"))
    error = as_text(as_object(content).get("type")).endswith("_error")
    if kind not in ("tool_result", "mcp_tool_result"):
        content = _readable(content)
    body = content if isinstance(content, str) else parts_of(as_list(content))
    if isinstance(content, dict):
        body = json.dumps(content, ensure_ascii=False)
    failed = block.get("is_error") is True or error
    draft.add(tool_result(call_id, block.get("name"), body, failed=failed))


def _readable(content: Json) -> Json:
    """A server tool's result without its sealed fields, which mean nothing outside the provider."""
    if isinstance(content, dict):
        kept = {key: value for key, value in content.items() if not key.startswith("encrypted_")}
        return {key: _readable(value) for key, value in kept.items()}
    if isinstance(content, list):
        return [_readable(item) for item in content]
    return content


def _parts(block: Json) -> list[Json]:
    if isinstance(block, str):
        return [{"type": "text", "text": block}]
    value = as_object(block)
    kind, source = value.get("type"), as_object(value.get("source"))
    if kind == "text":
        return [{"type": "text", "text": value.get("text") or ""}]
    if kind == "document" and source.get("type") in ("text", "content"):
        inner = source.get("data") if source.get("type") == "text" else source.get("content")
        return [
            part
            for item in (inner if isinstance(inner, list) else [inner])
            for part in _parts(item)
        ]
    if kind in ("image", "document") and source:
        mime = as_text(source.get("media_type")) or "application/octet-stream"
        url = as_text(source.get("url")) or f"data:{mime};base64,{as_text(source.get('data'))}"
        if kind == "image":
            return [{"type": "image_url", "image_url": {"url": url}}]
        return [{"type": "file", "file": {"file_data": url}}]
    return [block]
