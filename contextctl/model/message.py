"""Messages, tool calls and tool schemas, in one form for every provider.

The form follows OpenAI chat, which litellm speaks to every provider. Fields that a provider adds
(thinking blocks, search results) travel in ``extra`` and are sent back unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = "dict[str, Json]"

_OWN_KEYS = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call an assistant asked for. ``arguments`` is the raw JSON text the model wrote."""

    id: str
    name: str
    arguments: str

    def to_openai(self) -> JsonObject:
        """The call as it stands in an OpenAI chat message."""
        function: JsonObject = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Message:
    """One message. ``content`` is text, a list of content parts (``{"type": …}``), or None."""

    role: str
    content: str | list[Json] | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text of the message: all text parts joined by newlines."""
        if isinstance(self.content, str):
            return self.content
        parts = (part for part in self.content or () if isinstance(part, dict))
        return "\n".join(text for part in parts if isinstance(text := part.get("text"), str))

    def to_openai(self) -> JsonObject:
        """The message as an OpenAI chat dict, keys in a fixed order."""
        out: JsonObject = {"role": self.role, "content": self.content}
        if self.tool_calls:
            out["tool_calls"] = [call.to_openai() for call in self.tool_calls]
        if self.tool_call_id is not None:
            out["tool_call_id"] = self.tool_call_id
        if self.name is not None:
            out["name"] = self.name
        out.update(self.extra)
        return out


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it. ``parameters`` is a JSON Schema of type ``object``.

    ``source`` says where it came from: ``profile``, ``trace``, ``contextctl`` or the name of an
    MCP server.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]
    source: str = "profile"

    def to_openai(self) -> JsonObject:
        """The tool as an OpenAI chat dict with sorted schema keys, so that its bytes are stable."""
        function: JsonObject = {"name": self.name}
        if self.description:
            function["description"] = self.description
        function["parameters"] = _sorted_json(dict(self.parameters))
        return {"type": "function", "function": function}


def message_from_openai(raw: Mapping[str, Json]) -> Message:
    """Read an OpenAI chat dict. Raises ``ValueError`` that names the field at fault."""
    role = raw.get("role")
    if not isinstance(role, str) or not role:
        raise ValueError(f"a message needs a 'role', got {role!r}")
    content = raw.get("content")
    if content is not None and not isinstance(content, (str, list)):
        kind = type(content).__name__
        raise ValueError(f"'content' must be text, a list of parts or null, got {kind}")
    calls = raw.get("tool_calls") or []
    if not isinstance(calls, list):
        raise ValueError(f"'tool_calls' must be a list, got {type(calls).__name__}")
    call_id, name = raw.get("tool_call_id"), raw.get("name")
    return Message(
        role=role,
        content=content,
        tool_calls=tuple(_call(call, index) for index, call in enumerate(calls)),
        tool_call_id=None if call_id is None else str(call_id),
        name=None if name is None else str(name),
        extra={key: value for key, value in raw.items() if key not in _OWN_KEYS},
    )


def tool_from_openai(raw: Mapping[str, Json], source: str = "trace") -> ToolSpec:
    """Read an OpenAI tool dict, with or without its ``function`` wrapper."""
    inner = raw.get("function", raw)
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        raise ValueError("a tool needs a 'function' with a 'name'")
    parameters = inner.get("parameters") or inner.get("input_schema") or {}
    if not isinstance(parameters, Mapping):
        raise ValueError(f"'parameters' of tool {inner['name']!r} must be an object")
    return ToolSpec(
        name=str(inner["name"]),
        description=str(inner.get("description") or ""),
        parameters=parameters or {"type": "object", "properties": {}},
        source=source,
    )


def _call(raw: Json, index: int) -> ToolCall:
    if not isinstance(raw, dict):
        raise ValueError(f"'tool_calls[{index}]' must be an object")
    function = raw.get("function")
    inner = function if isinstance(function, dict) else raw
    name, arguments = inner.get("name"), inner.get("arguments")
    if not isinstance(name, str):
        raise ValueError(f"'tool_calls[{index}]' needs a function name")
    if not isinstance(arguments, str):
        arguments = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    return ToolCall(id=str(raw.get("id") or f"call_{index}"), name=name, arguments=arguments)


def _sorted_json(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _sorted_json(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted_json(item) for item in value]
    return value
