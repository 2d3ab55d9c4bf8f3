"""Sessions of the pi coding agent: one JSON entry a line.

The whole log is read: what a compaction removed from the agent's window is still here, and the
compaction itself is a note. System prompt and tool schemas are not in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.io.traces.draft import (
    Draft,
    as_list,
    as_object,
    as_text,
    tool_call,
    tool_result,
)
from contextctl.io.traces.usage import usage_fact
from contextctl.model.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.message import Json, JsonObject
    from contextctl.model.trace import Trace

NAME = "pi"
_NOTES = {
    "compaction": "compaction",
    "branch_summary": "compaction",
    "model_change": "model",
    "thinking_level_change": "thinking_level",
}


def recognises(source: Source) -> bool:
    """Whether the first lines are pi entries: a session header, or messages in an envelope."""
    entries = [value for value in source.head if isinstance(value, dict)]
    return any(entry.get("type") == "session" and "cwd" in entry for entry in entries) or any(
        entry.get("type") == "message" and "role" in as_object(entry.get("message"))
        for entry in entries
    )


def read(source: Source) -> Iterator[Trace]:
    """One trace: the file is one session."""
    draft = Draft(source.name, NAME)
    for line, value in source.values():
        entry = as_object(value)
        kind = as_text(entry.get("type"))
        if kind == "message":
            _add(draft, as_object(entry.get("message")), source, line)
        elif kind == "session":
            draft.note("session", _facts(entry, ("id", "cwd", "version", "provider", "modelId")))
            draft.model = as_text(entry.get("modelId")) or draft.model
        elif kind in _NOTES:
            draft.note(_NOTES[kind], {key: entry[key] for key in entry if key != "type"})
            draft.model = as_text(entry.get("modelId")) or draft.model
        elif kind:
            draft.note("entry", {key: entry[key] for key in entry})
        else:
            source.warn(line, "skipped: not a pi entry (no 'type')")
    yield draft.trace()


def _add(draft: Draft, message: JsonObject, source: Source, line: int) -> None:
    role = message.get("role")
    if role == "user":
        draft.add(Message("user", _content(message.get("content"))))
    elif role == "assistant":
        _assistant(draft, message)
    elif role == "toolResult":
        call_id, name = message.get("toolCallId"), message.get("toolName")
        failed = message.get("isError") is True
        draft.add(tool_result(call_id, name, _content(message.get("content")), failed=failed))
    elif role == "bashExecution":
        text = f"$ {as_text(message.get('command'))}\n{as_text(message.get('output'))}"
        draft.add(Message("user", text, name="observation"))
    else:
        source.warn(line, f"skipped: unknown role {role!r} in a pi message")


def _assistant(draft: Draft, message: JsonObject) -> None:
    texts, calls = [], []
    for part in as_list(message.get("content")):
        block = as_object(part)
        if block.get("type") == "text":
            texts.append(as_text(block.get("text")))
        elif block.get("type") == "toolCall":
            calls.append(tool_call(block.get("id"), block.get("name"), block.get("arguments")))
        elif block.get("type") == "thinking":
            draft.note("thinking", {"text": block.get("thinking")})
    draft.add(Message("assistant", "\n".join(texts) or None, tool_calls=tuple(calls)))
    draft.use(usage_fact(message.get("usage"), message.get("model")))
    if message.get("stopReason") in ("aborted", "error"):
        draft.note("aborted", _facts(message, ("stopReason", "errorMessage")))


def _content(content: Json) -> str | list[Json] | None:
    """Text alone as text; with images, the parts in OpenAI form."""
    if not isinstance(content, list):
        return as_text(content)
    blocks = [as_object(part) for part in content]
    if all(block.get("type") == "text" for block in blocks):
        return "\n".join(as_text(block.get("text")) for block in blocks)
    return [_part(block) for block in blocks]


def _part(block: JsonObject) -> Json:
    if block.get("type") == "image":
        mime = as_text(block.get("mimeType")) or "image/*"
        url: JsonObject = {"url": f"data:{mime};base64,{as_text(block.get('data'))}"}
        return {"type": "image_url", "image_url": url}
    return {"type": "text", "text": as_text(block.get("text"))}


def _facts(entry: JsonObject, keys: tuple[str, ...]) -> JsonObject:
    return {key: entry[key] for key in keys if key in entry}
