"""A provider's own tool search: what it is sent, and what its answers say was found.

The whole array is sent, most of it marked ``defer_loading``; the provider shows the model only what
its search finds, inside the message that holds the search. That message carries the discovery: once
it leaves the window the tool has to be sent unmarked, or the model has lost it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from contextctl.model.message import Json, JsonObject, Message

FIELDS = "provider_specific_fields"

ANTHROPIC_SEARCH: JsonObject = {
    "type": "tool_search_tool_bm25_20251119",
    "name": "tool_search_tool_bm25",
}
OPENAI_SEARCH: JsonObject = {"type": "tool_search"}


def search_entry(model: str) -> JsonObject:
    """The entry of the tool array that switches the search of ``model``'s provider on."""
    return dict(OPENAI_SEARCH if "/responses/" in model else ANTHROPIC_SEARCH)


def marked(tool: JsonObject) -> JsonObject:
    """A tool that only the provider's search shows to the model."""
    return {**tool, "defer_loading": True}


def discovered(message: Mapping[str, Json]) -> Iterator[str]:
    """The names of the tools that a search inside an assistant message has found."""
    fields = message.get(FIELDS)
    if not isinstance(fields, dict):
        return
    for result in _objects(fields.get("tool_results")):
        content = result.get("content")
        found = content.get("tool_references") if isinstance(content, dict) else ()
        for reference in _objects(found):
            if isinstance(name := reference.get("tool_name"), str):
                yield name
    for item in _objects(fields.get("tool_search_items")):
        for tool in _objects(item.get("tools")):
            if isinstance(name := tool.get("name"), str):
                yield name


def without_search(message: Message) -> Message:
    """``message`` for a provider that does not search: what another's search found stands in fields
    that it would refuse."""
    if not any(discovered(message.extra)):
        return message
    return replace(message, extra={k: v for k, v in message.extra.items() if k != FIELDS})


def _objects(value: object) -> Iterator[JsonObject]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item
