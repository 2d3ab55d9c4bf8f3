"""A streamed reply, put together: server-sent events as the one body they spell out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from contextctl.io.traces.draft import as_list, as_object, as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from contextctl.model.message import Json, JsonObject

_FINAL = ("response.completed", "response.incomplete", "response.failed")
_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}


def join_events(text: str) -> JsonObject:
    """The reply that a stream of OpenAI chat, Responses or Anthropic events amounts to.

    A stream that was cut off gives what had arrived. ``{}`` when there is no event in it.
    """
    return join_values(_events(text))


def join_values(values: Iterable[JsonObject]) -> JsonObject:
    """The same for events that are already parsed."""
    events = [value for value in values if value]
    for event in events:
        if event.get("type") in _FINAL:
            return as_object(event.get("response"))
    if any("choices" in event for event in events):
        return _chat(events)
    return _anthropic(events)


def _events(text: str) -> Iterator[JsonObject]:
    for line in text.splitlines():
        if not line.startswith("data:"):
            continue
        try:
            yield as_object(json.loads(line[5:]))
        except ValueError:
            continue  # "[DONE]", or an event that the connection cut in two


def _chat(events: list[JsonObject]) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": None}
    calls: dict[int, dict[str, str]] = {}
    out: JsonObject = {"object": "chat.completion"}
    finish: Json = None
    for event in events:
        out.update({key: event[key] for key in ("id", "model", "usage") if event.get(key)})
        choice = as_object((as_list(event.get("choices")) or [None])[0])
        finish = choice.get("finish_reason") or finish
        delta = as_object(choice.get("delta"))
        for key in ("content", "reasoning_content", "refusal"):
            if isinstance(delta.get(key), str):
                message[key] = as_text(message.get(key)) + as_text(delta[key])
        for raw in as_list(delta.get("tool_calls")):
            _grow(calls, as_object(raw))
    if calls:
        message["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for _, call in sorted(calls.items())
        ]
    out["choices"] = [{"index": 0, "finish_reason": finish, "message": message}]
    return out


def _grow(calls: dict[int, dict[str, str]], delta: JsonObject) -> None:
    index = delta.get("index")
    at = index if isinstance(index, int) else len(calls)
    call = calls.setdefault(at, {"id": "", "name": "", "arguments": ""})
    function = as_object(delta.get("function"))
    call["id"] = as_text(delta.get("id")) or call["id"]
    call["name"] += as_text(function.get("name"))
    call["arguments"] += as_text(function.get("arguments"))


def _anthropic(events: list[JsonObject]) -> JsonObject:
    out: JsonObject = {}
    blocks: dict[int, JsonObject] = {}
    inputs: dict[int, str] = {}
    for event in events:
        kind, index = event.get("type"), event.get("index")
        if kind == "message_start":
            out.update(as_object(event.get("message")))
        elif kind == "message_delta":
            out.update(as_object(event.get("delta")))
            usage = {**as_object(out.get("usage")), **as_object(event.get("usage"))}
            out["usage"] = usage
        elif kind == "content_block_start" and isinstance(index, int):
            blocks[index] = dict(as_object(event.get("content_block")))
        elif kind == "content_block_delta" and isinstance(index, int):
            _extend(blocks.setdefault(index, {}), inputs, index, as_object(event.get("delta")))
    for index, text in inputs.items():
        blocks[index]["input"] = _parsed(text)
    if blocks:
        out["content"] = [block for _, block in sorted(blocks.items())]
    return out


def _extend(block: JsonObject, inputs: dict[int, str], index: int, delta: JsonObject) -> None:
    kind = as_text(delta.get("type"))
    if kind == "input_json_delta":
        inputs[index] = inputs.get(index, "") + as_text(delta.get("partial_json"))
    elif kind == "citations_delta":
        block["citations"] = [*as_list(block.get("citations")), delta.get("citation")]
    elif kind in _DELTAS:
        key = _DELTAS[kind]
        block[key] = as_text(block.get(key)) + as_text(delta.get(key))


def _parsed(text: str) -> Json:
    """A call's input; JSON that was cut off stays the text it is."""
    try:
        value: Json = json.loads(text or "{}")
    except ValueError:
        return text
    return value
