"""Events as lines of ``record.jsonl``, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import get_args

from contextctl.model.message import Json, JsonObject, message_from_openai, tool_from_openai
from contextctl.model.record import Event, MessageAdded, Todo, TodoSet, ToolsListed

EVENTS: dict[str, type[Event]] = {cls.kind: cls for cls in get_args(Event)}
"""Every kind of event by its name."""


def event_to_json(event: Event) -> JsonObject:
    """One line of ``record.jsonl``: ``{"kind": …, …fields}``."""
    out: JsonObject = {"kind": event.kind}
    if isinstance(event, MessageAdded):
        out["message"] = event.message.to_openai()
    elif isinstance(event, ToolsListed):
        out["source"] = event.source
        out["tools"] = [tool.to_openai() for tool in event.tools]
    else:
        out.update(asdict(event))
    return out


def event_from_json(raw: Mapping[str, Json]) -> Event:
    """Read a line of ``record.jsonl``. Raises ``ValueError`` that names what is wrong."""
    kind = raw.get("kind")
    cls = EVENTS.get(str(kind))
    if cls is None:
        raise ValueError(f"unknown event kind {kind!r}; known: {', '.join(sorted(EVENTS))}")
    if cls is MessageAdded:
        message = raw.get("message")
        if not isinstance(message, dict):
            raise ValueError("a 'message' event needs a 'message' object")
        return MessageAdded(message_from_openai(message))
    if cls is ToolsListed:
        tools, source = raw.get("tools"), str(raw.get("source", ""))
        if not isinstance(tools, list):
            raise ValueError("a 'tools' event needs a list 'tools'")
        specs = (tool_from_openai(tool, source) for tool in tools if isinstance(tool, dict))
        return ToolsListed(source, tuple(specs))
    if cls is TodoSet:
        return TodoSet(tuple(_todo(item) for item in _list(raw, "items")))
    known = {f.name for f in fields(cls)}
    values = {key: _frozen(value) for key, value in raw.items() if key in known}
    try:
        return cls(**values)  # type: ignore[arg-type]  # the field names were just checked
    except TypeError as error:
        raise ValueError(f"event {kind!r}: {error}") from None


def _list(raw: Mapping[str, Json], key: str) -> list[Json]:
    value = raw.get(key)
    if not isinstance(value, list):
        raise ValueError(f"a {raw.get('kind')!r} event needs a list {key!r}")
    return value


def _todo(item: Json) -> Todo:
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        raise ValueError("an item of a 'todo' event needs a 'text'")
    texts = {key: str(item[key]) for key in ("status", "id", "parent", "note") if key in item}
    after = item.get("after")
    names = tuple(map(str, after)) if isinstance(after, list) else ()
    return Todo(str(item["text"]), after=names, **texts)


def _frozen(value: Json) -> object:
    """Lists at the top of an event are tuples in its dataclass."""
    return tuple(value) if isinstance(value, list) else value
