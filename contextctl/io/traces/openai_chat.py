"""OpenAI chat: ``{"id", "messages", "tools"}`` a line, one document, a list, or bare messages.

This is also the form of a contextctl trace file. Calls in the older ``function_call`` form get ids.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from contextctl.io.traces.draft import Draft, as_list, as_object, as_text, tool_call, tool_result
from contextctl.model.message import message_from_openai

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.message import Json, JsonObject, Message
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
    if not isinstance(messages, list):
        return False
    # One message with a role of its own making does not turn a chat into something else.
    spoken = [is_message(item) for item in messages[:3]]
    return all(spoken) or (any(spoken) and all(map(_has_role, messages[:3])))


def _has_role(value: Json) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and "content" in value


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
    draft.add(_identified(draft, message_from_openai(_own_ids(draft, kept))))


def _own_ids(draft: Draft, raw: JsonObject) -> JsonObject:
    """Calls without an id get one that is theirs alone: some servers send none, or an empty one."""
    calls = raw.get("tool_calls")
    if not isinstance(calls, list) or all(as_object(call).get("id") for call in calls):
        return raw
    at = len(draft.messages)
    named: list[Json] = [
        {**call, "id": call.get("id") or f"call_{at}_{index}"} if isinstance(call, dict) else call
        for index, call in enumerate(calls)
    ]
    return {**raw, "tool_calls": named}


def _identified(draft: Draft, message: Message) -> Message:
    """A result without an id answers the first call before it that has no result yet."""
    if message.role != "tool" or message.tool_call_id:
        return message
    answered: set[str | None] = set()
    for earlier in reversed(draft.messages):
        if earlier.role == "tool":
            answered.add(earlier.tool_call_id)
        elif earlier.role == "assistant":
            waiting = [call for call in earlier.tool_calls if call.id not in answered]
            same = [call for call in waiting if message.name in (None, call.name)]
            return replace(message, tool_call_id=(same or waiting)[0].id) if waiting else message
    return message


def add_checked(draft: Draft, raw: JsonObject, source: Source, line: int) -> None:
    """Append one chat message, or warn with file:line why it could not be read."""
    try:
        add_message(draft, _known_role(draft, raw, source, line))
    except ValueError as error:
        source.warn(line, f"skipped message {len(draft.messages) + 1}: {error}")


def _known_role(draft: Draft, raw: JsonObject, source: Source, line: int) -> JsonObject:
    """A role that no provider takes (``critic``) is said by the user, under its name."""
    role = raw.get("role")
    if not isinstance(role, str) or role in _ROLES or not role:
        return raw
    source.warn(line, f"message {len(draft.messages) + 1}: the role '{role}' is read as 'user'")
    content = raw.get("content")
    said = f"{role}: {content}" if isinstance(content, str) else content
    return {**raw, "role": "user", "content": said}


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
