"""A record as it would be had a stretch of it been delegated, a stage ended, or its tools found.

What a delegate hands back is one message of a booked size in the place of the stretch; a compaction
at a stage's end is carried out by the fold itself. Everything else stays as it was recorded, so
that the step can be assembled again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contextctl.model.counter import Counter
from contextctl.model.message import Message, ToolCall, ToolSpec
from contextctl.model.record import (
    Event,
    MessageAdded,
    ResultArrived,
    StageEnded,
    ToolsListed,
    UsageReported,
)

ANSWER_TOKENS = 600
LONGEST = 12
"""Steps that one delegate takes at most (``subagents.NAME.max_steps``)."""
_WORTH = 3
"""A stretch is worth a delegate when it takes this many times what comes back."""

_RESIDENT = 10
"""So few tools are not worth a search (``defer.per_server``)."""

Rewritten = tuple[tuple[Event, ...], str]
"""The record as it would be, and what was assumed."""
Rewrite = Callable[[tuple[Event, ...], Counter, int], Rewritten | None]


def disclosed(events: tuple[Event, ...], counter: Counter, protect: int) -> Rewritten | None:
    """The tools that a trace or a task brought, found by a search: those it called, and one more.

    A profile defers only the tools of servers, since a trace calls its own without a search.
    """
    del counter, protect
    listed = [e for e in events if isinstance(e, ToolsListed) and e.source in ("trace", "task")]
    count = sum(len(event.tools) for event in listed)
    used = {c.name for e in events if isinstance(e, MessageAdded) for c in e.message.tool_calls}
    kept = sum(tool.name in used for event in listed for tool in event.tools)
    if count <= _RESIDENT or kept == count:
        return None
    out: list[Event] = []
    for event in events:
        if isinstance(event, ToolsListed) and event in listed:
            tools = tuple(tool for tool in event.tools if tool.name in used)
            out.append(ToolsListed(event.source, (*tools, _SEARCH)))
        else:
            out.append(event)
    said = f"{count - kept} of {count} tools served by MCP and found by tool_search"
    return _uncounted(out), said


def isolated(events: tuple[Event, ...], counter: Counter, protect: int) -> Rewritten | None:
    """The stretch of steps, without a user message in it, that reads most, as one delegate's."""
    steps = _steps(events)
    steps = steps[: max(len(steps) - protect, 0)]
    best: tuple[int, int, int] | None = None
    sizes = [_result_tokens(events[start:stop], counter) for start, stop in steps]
    for first in range(len(steps)):
        tokens = 0
        for last in range(first, min(first + LONGEST, len(steps))):
            if last > first and _is_interrupted(events, steps[last - 1][1], steps[last][0]):
                break
            tokens += sizes[last]
            if last > first and (best is None or tokens > best[0]):
                best = (tokens, first, last)
    if best is None or best[0] < _WORTH * ANSWER_TOKENS:
        return None
    _, first, last = best
    call = ToolCall("booked", "delegate", "{}")
    stand_in: tuple[Event, ...] = (
        MessageAdded(Message("assistant", None, (call,))),
        ResultArrived("booked", "delegate", _words(ANSWER_TOKENS, counter)),
    )
    start, stop = steps[first][0], steps[last][1]
    said = f"steps {first + 1}-{last + 1} by a delegate, its answer booked at {ANSWER_TOKENS}"
    return (*events[:start], *stand_in, *_uncounted(events[stop:])), said


def compacted(events: tuple[Event, ...], counter: Counter, protect: int) -> Rewritten | None:
    """A stage that ends right before the step: what is due then is really compacted."""
    del counter, protect
    return (*events, StageEnded("what if")), "compacted at a stage's end right before this step"


REWRITES: dict[int, Rewrite] = {3: disclosed, 5: isolated, 6: compacted}
"""By the number of the remedy."""

_SEARCH = ToolSpec(
    "tool_search",
    "Find tools by what they do. Answers with the schemas of the best matches.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)


def _uncounted(events: Sequence[Event]) -> tuple[Event, ...]:
    """Without what a provider counted: it counted windows that held the stretch."""
    return tuple(event for event in events if not isinstance(event, UsageReported))


def _steps(events: Sequence[Event]) -> list[tuple[int, int]]:
    """Each assistant turn with its results, as ``events[start:stop]``."""
    out: list[tuple[int, int]] = []
    for place, event in enumerate(events):
        if isinstance(event, MessageAdded) and event.message.role == "assistant":
            out.append((place, place + 1))
        elif isinstance(event, ResultArrived) and out:
            out[-1] = (out[-1][0], place + 1)
    return out


def _result_tokens(events: Sequence[Event], counter: Counter) -> int:
    return sum(counter.text(e.content) for e in events if isinstance(e, ResultArrived))


def _is_interrupted(events: Sequence[Event], start: int, stop: int) -> bool:
    return any(_is_user(event) for event in events[start:stop])


def _is_user(event: Event) -> bool:
    return isinstance(event, MessageAdded) and event.message.role == "user"


def _words(tokens: int, counter: Counter) -> str:
    """Text of about ``tokens`` tokens, never fewer."""
    text = " word" * tokens
    while (counted := counter.text(text)) < tokens:
        text += " word" * (tokens - counted)
    return text
