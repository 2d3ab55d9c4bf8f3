"""OpenAI chat: ``{"id", "messages", "tools"}`` a line, one document, a list, or bare messages.

This is also the form of a contextctl trace file. Calls in the older ``function_call`` form get ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.io.traces.draft import Draft, as_list, as_object, as_text, tool_call, tool_result
from contextctl.model.message import message_from_openai

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.message import Json, JsonObject
    from contextctl.model.trace import Trace

NAME = "openai"
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_OWN = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})
_IDS = ("id", "trace_id", "session_id", "task_id")


def recognises(source: Source) -> bool:
    """Whether the file's first values are OpenAI chat messages or conversations."""
    for value in source.head:
        first = value[0] if isinstance(value, list) and value else value
        if is_message(first) or is_conversation(first):
            return True
    return False


def read(source: Source) -> Iterator[Trace]:
    """One trace a line, a list element or a document; messages one a line are one trace."""
    loose = Draft("", NAME)
    for line, value in source.values():
        if is_message(value):
            add_checked(loose, as_object(value), source, line)
            continue
        array = isinstance(value, list) and not (value and is_message(value[0]))
        for item in as_list(value) if array else (value,):
            draft = _conversation(item, source, line)
            if draft is not None:
                yield draft.trace()
    if loose.messages:
        yield loose.trace()


def is_message(value: Json) -> bool:
    """Whether a value is one chat message."""
    if not isinstance(value, dict) or "messages" in value:
        return False
    return as_text(value.get("role")) in _ROLES


def is_conversation(value: Json) -> bool:
    """Whether a value holds chat messages under ``messages``."""
    messages = value.get("messages") if isinstance(value, dict) else None
    return isinstance(messages, list) and all(is_message(item) for item in messages[:3])


def add_message(draft: Draft, raw: JsonObject) -> None:
    """Append one chat message. Raises ``ValueError`` that names the field at fault."""
    if raw.get("role") == "function":
        name, content = raw.get("name"), raw.get("content")
        text = content if content is None or isinstance(content, (str, list)) else str(content)
        draft.add(tool_result(_last_call_id(draft, name), name, text))
        return
    # Replies carry fields that hold nothing (refusal, audio, annotations); they are never sent.
    kept = {key: value for key, value in raw.items() if key in _OWN or not _is_hollow(value)}
    legacy = kept.pop("function_call", None)
    if isinstance(legacy, dict) and not kept.get("tool_calls"):
        call_id = f"call_{len(draft.messages)}"
        call = tool_call(call_id, legacy.get("name"), legacy.get("arguments"))
        kept["tool_calls"] = [call.to_openai()]
    draft.add(message_from_openai(kept))


def add_checked(draft: Draft, raw: JsonObject, source: Source, line: int) -> None:
    """Append one chat message, or warn with file:line why it could not be read."""
    try:
        add_message(draft, raw)
    except ValueError as error:
        source.warn(line, f"skipped message {len(draft.messages) + 1}: {error}")


def _is_hollow(value: Json) -> bool:
    if isinstance(value, dict):
        return all(_is_hollow(item) for item in value.values())
    return value is None or value == []


def _conversation(value: Json, source: Source, line: int) -> Draft | None:
    body: JsonObject = {"messages": value} if isinstance(value, list) else as_object(value)
    if not isinstance(body.get("messages"), list):
        source.warn(line, f"skipped: no 'messages' (keys: {', '.join(list(body)[:6]) or 'none'})")
        return None
    identity = next((str(body[key]) for key in _IDS if isinstance(body.get(key), (str, int))), "")
    draft = Draft(identity, NAME, model=str(body.get("model") or ""))
    draft.offer(as_list(body.get("tools")))
    draft.offer(as_list(body.get("functions")))
    for raw in as_list(body["messages"]):
        add_checked(draft, as_object(raw), source, line)
    return draft


def _last_call_id(draft: Draft, name: Json) -> str:
    for message in reversed(draft.messages):
        for call in reversed(message.tool_calls):
            if call.name == name or name is None:
                return call.id
    return ""
