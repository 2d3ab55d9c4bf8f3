"""A task as a line of a task file gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextctl.model.message import Json, Message, ToolSpec

CHECKS = ("contains", "regex", "equals", "json_schema", "python")


@dataclass(frozen=True, slots=True)
class Task:
    """One task. ``messages`` is what stands in the window first: the input, or a conversation.

    ``digest`` is the SHA-256 (hex) of everything that makes the task what it is: all keys but
    ``id`` and ``tags``. ``source`` is the ``file:line`` it came from. ``tools`` names the profile's
    tools the task may use, None being all of them; ``tool_specs`` are tools it brings along.
    """

    id: str
    messages: tuple[Message, ...]
    digest: str
    source: str = ""
    input: str = ""
    constraints: tuple[str, ...] = ()
    pins: Mapping[str, Json] = field(default_factory=dict)
    documents: tuple[Json, ...] = ()
    retrieved: tuple[Mapping[str, Json], ...] = ()
    subject: str = ""
    tools: tuple[str, ...] | None = None
    tool_specs: tuple[ToolSpec, ...] = ()
    expect: Mapping[str, Json] = field(default_factory=dict)
    tags: Json = None

    @property
    def is_conversation(self) -> bool:
        """Whether an agent's own turns are part of it, so that a dry run can walk them."""
        return any(message.role == "assistant" for message in self.messages)

    @property
    def asks_nothing(self) -> bool:
        """Whether it ends with an answer: there is nothing left to ask a model."""
        last = self.messages[-1]
        return last.role == "assistant" and not last.tool_calls
