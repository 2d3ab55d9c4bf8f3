"""A trace while an importer builds it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contextctl.model.message import Message, ToolCall, ToolSpec, tool_from_openai
from contextctl.model.trace import Trace, TraceNote, UsageFact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from contextctl.model.message import Json, JsonObject

EMPTY_SCHEMA: JsonObject = {"type": "object", "properties": {}}


@dataclass(slots=True)
class Draft:
    """Messages, notes and usage in the order in which the file tells them."""

    id: str
    source: str
    messages: list[Message] = field(default_factory=list)
    tools: list[ToolSpec] = field(default_factory=list)
    usages: dict[int, UsageFact] = field(default_factory=dict)
    notes: list[TraceNote] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    model: str = ""
    turns: int = 0

    def add(self, message: Message) -> None:
        """Append a message; an assistant message is the next turn."""
        self.messages.append(message)
        self.turns += message.role == "assistant"

    def note(self, topic: str, body: Mapping[str, Json]) -> None:
        """Keep a fact that is no message, at this place of the conversation, once."""
        fact = TraceNote(len(self.messages), topic, body)
        # A reply is read twice: as it came, and as the next request repeats it.
        if fact not in self.notes[-50:]:
            self.notes.append(fact)

    def use(self, fact: UsageFact | None) -> None:
        """The provider's count for the latest assistant turn. A turn of no tokens tells nothing."""
        if fact is None or not self.turns:
            return
        self.model = fact.model or self.model
        if fact.prompt_tokens or fact.completion_tokens:
            self.usages[self.turns] = fact

    def cut(self, length: int) -> None:
        """Forget the messages after the first ``length``; their cost and notes stay."""
        self.turns -= sum(message.role == "assistant" for message in self.messages[length:])
        del self.messages[length:]

    def offer(self, tools: Iterable[Json]) -> None:
        """Add tool schemas (OpenAI or Anthropic form) whose names are new."""
        known = {tool.name for tool in self.tools}
        for raw in tools:
            spec = tool_spec(raw)
            if spec is not None and spec.name not in known:
                known.add(spec.name)
                self.tools.append(spec)

    def trace(self, warnings: Iterable[str] = ()) -> Trace:
        """The finished value."""
        return Trace(
            id=self.id,
            messages=tuple(self.messages),
            tools=tuple(self.tools),
            usages=dict(self.usages),
            notes=tuple(self.notes),
            source=self.source,
            model=self.model,
            warnings=(*warnings, *self.warnings),
        )


def tool_spec(raw: Json) -> ToolSpec | None:
    """A tool schema of a request, or None for one without a name (a whole MCP server, say)."""
    if not isinstance(raw, dict):
        return None
    try:
        return tool_from_openai(raw)
    except ValueError:
        return None


def tool_call(call_id: Json, name: Json, arguments: Json) -> ToolCall:
    """A call whose arguments may be JSON text or a value."""
    if not isinstance(arguments, str):
        arguments = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    return ToolCall(id=str(call_id or ""), name=str(name or ""), arguments=arguments)


def tool_result(
    call_id: Json, name: Json, content: str | list[Json] | None, *, failed: bool = False
) -> Message:
    """A tool message; ``failed`` marks a result that its agent saw as an error."""
    extra: JsonObject = {"is_error": True} if failed else {}
    label = str(name) if name else None
    return Message("tool", content, tool_call_id=str(call_id or ""), name=label, extra=extra)


def as_object(value: Json) -> JsonObject:
    """``value`` when it is an object, else an empty one: for reading what may be missing."""
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """``value`` when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Json) -> str:
    """Text as it is, null as nothing, anything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
