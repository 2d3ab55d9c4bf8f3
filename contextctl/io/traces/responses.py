"""OpenAI Responses: items as chat messages, and files that hold one request or response.

Items of one side that follow each other are one turn: a text and three calls are one assistant
message. What a server ran itself (MCP, web search, code) is a call with its result.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from contextctl.io.traces.draft import Draft, as_list, as_object, as_text, tool_call, tool_result
from contextctl.io.traces.usage import usage_fact
from contextctl.model.message import Message, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.message import Json, JsonObject
    from contextctl.model.trace import Trace

NAME = "responses"
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_OUTPUTS = (
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
    "computer_call_output",
    "shell_call_output",
    "apply_patch_call_output",
)
_ARGUMENTS = ("arguments", "action", "queries", "code", "input", "operation")
_RESULTS = ("output", "results", "outputs", "result")
_NOTES = {"reasoning": "thinking", "compaction": "compaction", "compaction_summary": "compaction"}


def recognises(source: Source) -> bool:
    """Whether the file is a Responses request, a response, or items one a line."""
    return any(
        isinstance(value, dict)
        and (value.get("object") == "response" or _is_request(value) or _is_item(value))
        for first in source.head
        for value in (first[:50] if isinstance(first, list) else [first])
    )


def read(source: Source) -> Iterator[Trace]:
    """A request or response is a trace each; items one a line are one trace."""
    loose = Draft("", NAME)
    for _, value in source.values():
        for body in value if isinstance(value, list) else [value]:
            item = as_object(body)
            if _is_request(item) or item.get("object") == "response":
                draft = Draft(as_text(item.get("id")), NAME)
                add_request(draft, item)
                add_response(draft, item)
                yield draft.trace()
            elif item:
                add_item(loose, item)
    yield loose.trace()


def add_request(draft: Draft, request: JsonObject) -> None:
    """Append a request: instructions, tools and input items."""
    draft.model = as_text(request.get("model")) or draft.model
    draft.offer(as_list(request.get("tools")))
    if isinstance(request.get("instructions"), str):
        draft.add(Message("system", as_text(request["instructions"])))
    for item in input_items(request):
        add_item(draft, item)


def input_items(request: JsonObject) -> list[JsonObject]:
    """The items of ``input``; a text alone is one user message."""
    raw = request.get("input")
    if isinstance(raw, str):
        return [{"type": "message", "role": "user", "content": raw}]
    return [as_object(item) for item in as_list(raw)]


def add_response(draft: Draft, response: JsonObject) -> None:
    """Append what a response answered, and its usage."""
    for item in as_list(response.get("output")):
        add_item(draft, as_object(item))
    draft.use(usage_fact(response.get("usage"), response.get("model")))


def add_item(draft: Draft, item: JsonObject) -> None:
    """Append one item of an input or an output."""
    kind = as_text(item.get("type")) or "message"
    if kind == "message" and item.get("role") != "assistant":
        draft.add(Message(as_text(item.get("role")) or "user", _content(item.get("content"))))
    elif kind == "message":
        _extend(draft, _content(item.get("content")), ())
    elif kind in _CALLS:
        arguments = item.get(_CALLS[kind])
        call_id = item.get("call_id") or item.get("id")
        _extend(draft, None, (tool_call(call_id, item.get("name"), arguments),))
    elif kind in _OUTPUTS:
        output = item.get("output")
        body = _content(output) if isinstance(output, (str, list)) else as_text(output)
        draft.add(tool_result(item.get("call_id"), None, body))
    elif kind in _NOTES:
        draft.note(_NOTES[kind], {key: value for key, value in item.items() if key != "type"})
    elif kind == "mcp_list_tools":
        draft.offer(as_list(item.get("tools")))
    elif kind.endswith("_call"):
        _server_call(draft, kind, item)
    else:
        draft.note("item", item)


def _server_call(draft: Draft, kind: str, item: JsonObject) -> None:
    result = next((item[key] for key in _RESULTS if item.get(key) is not None), None)
    error = item.get("error")
    if result is None and error is None:
        # Nothing of it came back to the agent: there is no result to pair the call with.
        draft.note("server_call", item)
        return
    arguments = next((item[key] for key in _ARGUMENTS if item.get(key) is not None), None)
    call_id, name = item.get("call_id") or item.get("id"), item.get("name") or kind
    _extend(draft, None, (tool_call(call_id, name, arguments),))
    text = as_text(error if result is None else result)
    draft.add(tool_result(call_id, name, text, failed=error is not None))


def _extend(draft: Draft, content: str | list[Json] | None, calls: tuple[ToolCall, ...]) -> None:
    """Add to the assistant turn that is still open, or start one."""
    last = draft.messages[-1] if draft.messages else None
    if last is None or last.role != "assistant":
        draft.add(Message("assistant", content, tool_calls=calls))
        return
    texts = [text for text in (last.text, _text(content)) if text]
    merged = replace(last, content="\n".join(texts) or None, tool_calls=(*last.tool_calls, *calls))
    draft.messages[-1] = merged


def _text(content: str | list[Json] | None) -> str:
    return Message("assistant", content).text


def _content(raw: Json) -> str | list[Json] | None:
    if raw is None or isinstance(raw, str):
        return raw
    parts = [_part(as_object(part)) for part in as_list(raw)]
    if all(part.get("type") == "text" for part in parts):
        return "\n".join(as_text(part.get("text")) for part in parts)
    return list(parts)


def _part(part: JsonObject) -> JsonObject:
    kind = part.get("type")
    if kind == "input_image":
        return {"type": "image_url", "image_url": {"url": part.get("image_url")}}
    if kind == "input_file":
        return {"type": "file", "file": {"file_data": part.get("file_data")}}
    text = part.get("text") if "text" in part else part.get("refusal")
    return {"type": "text", "text": as_text(text)} if text is not None else part


def _is_request(value: JsonObject) -> bool:
    return (
        "model" in value and "messages" not in value and isinstance(value.get("input"), (str, list))
    )


def _is_item(value: JsonObject) -> bool:
    return value.get("type") in (*_CALLS, *_OUTPUTS) and "call_id" in value
