"""A recorded conversation of an agent, in one form whatever wrote it down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextctl.model.message import Json, Message, ToolSpec


@dataclass(frozen=True, slots=True)
class UsageFact:
    """What a provider reported for one assistant turn, in tokens.

    ``prompt_tokens`` includes cached and cache-written ones, as litellm reports them; ``cost_usd``
    is what the trace says it cost, 0.0 when it does not say.
    """

    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class TraceNote:
    """A fact of the trace that is no message: a compaction, a model change, thinking, an abort.

    It stands after the first ``after`` messages. ``topic`` is one word (``compaction``, ``model``,
    ``thinking``, ``aborted`` …), ``body`` is what the trace said about it.
    """

    after: int
    topic: str
    body: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """One conversation: what the agent saw and said, in order.

    ``messages`` are as recorded: calls without a result and results without a call are kept.
    ``usages`` are keyed by assistant turn, from 1. ``source`` names the format it was read from,
    ``model`` the last model it names. ``warnings`` say, with file:line, what had to be guessed.
    """

    id: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    usages: Mapping[int, UsageFact] = field(default_factory=dict)
    notes: tuple[TraceNote, ...] = ()
    source: str = ""
    model: str = ""
    warnings: tuple[str, ...] = ()
