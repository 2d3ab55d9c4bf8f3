"""Requests and responses of a provider's API, joined into conversations.

An agent sends its whole history with every call, so consecutive requests repeat each other. A
request that continues an earlier one extends that trace; one that rewrote its history (a
compaction, say) begins a new trace. The usage of every call is kept at its turn.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contextctl.io.traces import responses
from contextctl.io.traces.blocks import add_anthropic, system_text
from contextctl.io.traces.draft import Draft, as_list, as_object, as_text
from contextctl.io.traces.openai_chat import add_checked
from contextctl.io.traces.sse import join_events
from contextctl.io.traces.usage import usage_fact
from contextctl.model.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.io.traces.source import Source
    from contextctl.model.message import Json, JsonObject
    from contextctl.model.trace import Trace

NAME = "exchanges"
_ITEMS = {"responses": "input", "anthropic": "messages", "openai": "messages"}
_ANTHROPIC_KEYS = ("system", "context_management", "mcp_servers", "thinking", "stop_sequences")


@dataclass(slots=True)
class Conversation:
    """One trace being joined.

    ``keys`` are the items its last request sent; ``marks`` says for a number of items sent how many
    messages of the draft they came to.
    """

    draft: Draft
    keys: list[str] = field(default_factory=list)
    marks: dict[int, int] = field(default_factory=dict)
    head: str = ""
    response_id: str = ""


def recognises(source: Source) -> bool:
    """Whether the values are ``{"request": …, "response": …}`` with a body we know."""
    return any(
        isinstance(value, dict)
        and isinstance(value.get("request"), dict)
        and bool({"messages", "input"} & set(as_object(value["request"])))
        for value in source.head
    )


def read(source: Source) -> Iterator[Trace]:
    """Every conversation of the file, in the order of their first requests."""
    joined: list[Conversation] = []
    for line, value in source.values():
        for pair in value if isinstance(value, list) else [value]:
            body = as_object(pair)
            if "request" not in body:
                source.warn(line, "skipped: no 'request' here")
                continue
            request, response = as_object(body["request"]), as_object(body.get("response"))
            join(joined, as_text(body.get("id")), request, response, source, line)
    for conversation in joined:
        yield conversation.draft.trace()


def join(
    joined: list[Conversation],
    identity: str,
    request: JsonObject,
    response: JsonObject,
    source: Source,
    line: int,
    name: str = NAME,
) -> None:
    """Add one exchange to the conversation it continues, or to a new one at the end of ``joined``.

    ``response`` is a body, ``{"sse": text}`` for a stream, or empty when there was none.
    """
    if isinstance(response.get("sse"), str):
        response = join_events(as_text(response["sse"]))
    api = api_of(request, response)
    items = native_items(api, request)
    keys = [json.dumps(item, sort_keys=True, ensure_ascii=False) for item in items]
    head = json.dumps([request.get("system"), request.get("instructions")], ensure_ascii=False)
    previous = as_text(request.get("previous_response_id"))
    conversation = _continued(joined, keys, head, previous)
    if conversation is None:
        conversation = Conversation(Draft(identity, name), head=head)
        joined.append(conversation)
    known = 0 if previous else len(conversation.keys)
    rest: list[Json] = list(items[known:])
    new = {**request, _ITEMS[api]: rest}
    extend(conversation, api, known, new, response, source, line)
    conversation.keys = keys


def extend(
    conversation: Conversation,
    api: str,
    known: int,
    request: JsonObject,
    response: JsonObject,
    source: Source,
    line: int,
) -> None:
    """Append a request whose first ``known`` items were sent before and are left out of it.

    The reply before it is replaced by what the request says of it, unless the provider kept it
    (``previous_response_id``).
    """
    draft = conversation.draft
    if not conversation.marks:
        system = system_text(request.get("system")) or as_text(request.get("instructions"))
        if system:
            draft.add(Message("system", system))
        conversation.marks[0] = len(draft.messages)
    elif not request.get("previous_response_id"):
        draft.cut(conversation.marks.get(known, len(draft.messages)))
    draft.model = as_text(request.get("model")) or draft.model
    draft.offer(as_list(request.get("tools")))
    items = native_items(api, request)
    for item in items:
        _add(draft, api, item, source, line)
    conversation.marks[known + len(items)] = len(draft.messages)
    conversation.response_id = as_text(response.get("id"))
    _add_reply(draft, api, response, source, line)


def api_of(request: JsonObject, response: JsonObject) -> str:
    """``responses``, ``anthropic`` or ``openai``, by the fields only one of them has."""
    if "input" in request or response.get("object") == "response":
        return "responses"
    if response.get("type") == "message" or any(key in request for key in _ANTHROPIC_KEYS):
        return "anthropic"
    if any("input_schema" in as_object(tool) for tool in as_list(request.get("tools"))):
        return "anthropic"
    blocks = (
        as_object(block).get("type")
        for message in as_list(request.get("messages"))
        for block in as_list(as_object(message).get("content"))
    )
    native = ("tool_use", "tool_result", "thinking", "server_tool_use", "compaction", "document")
    return "anthropic" if any(kind in native for kind in blocks) else "openai"


def _continued(
    joined: list[Conversation], keys: list[str], head: str, previous: str
) -> Conversation | None:
    for conversation in reversed(joined):
        if previous:
            if conversation.response_id == previous:
                return conversation
            continue
        sent = conversation.keys
        grown = len(keys) > len(sent) > 0
        if grown and conversation.head == head and keys[: len(sent)] == sent:
            return conversation
    return None


def native_items(api: str, request: JsonObject) -> list[JsonObject]:
    """The history a request carries, in its provider's form."""
    if api == "responses":
        return responses.input_items(request)
    return [as_object(message) for message in as_list(request.get("messages"))]


def _add(draft: Draft, api: str, item: JsonObject, source: Source, line: int) -> None:
    if api == "responses":
        responses.add_item(draft, item)
    elif api == "anthropic":
        add_anthropic(draft, item)
    else:
        add_checked(draft, item, source, line)


def _add_reply(draft: Draft, api: str, response: JsonObject, source: Source, line: int) -> None:
    if not response:
        return
    turns = draft.turns
    if response.get("error"):
        draft.note("error", {"error": response["error"]})
    if api == "responses":
        for value in as_list(response.get("output")):
            responses.add_item(draft, as_object(value))
    elif api == "anthropic" and "content" in response:
        add_anthropic(draft, {"role": "assistant", "content": response["content"]})
    elif api == "openai":
        choice = as_object((as_list(response.get("choices")) or [None])[0])
        message = as_object(choice.get("message"))
        if message:
            add_checked(draft, message, source, line)
    if draft.turns > turns:
        draft.use(usage_fact(_usage(response), response.get("model")))
    elif response.get("usage"):
        # A call that only compacted said nothing: its tokens belong to no turn.
        draft.note("usage", {"usage": _usage(response)})


def _usage(response: JsonObject) -> Json:
    """Anthropic counts a call that only compacted under ``iterations``."""
    usage = as_object(response.get("usage"))
    iterations = as_list(usage.get("iterations"))
    return usage if not iterations or usage.get("input_tokens") else iterations[-1]
