"""A trace written out in lines, short enough to be expected by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from contextctl.core.trace_events import result_text
from contextctl.io.traces import read_traces
from contextctl.model.message import Message
from contextctl.model.trace import Trace

FIXTURES = Path(__file__).parents[3] / "fixtures" / "traces"


def fixture(name: str, wanted: str = "auto") -> list[Trace]:
    return list(read_traces(FIXTURES / name, wanted))


def spelled(trace: Trace) -> list[str]:
    """``role: text``, then ``-> name(arguments) #id`` for each call of a message."""
    out = []
    for message in trace.messages:
        out.append(f"{_head(message)}: {result_text(message.content)[0]}")
        out += [f"-> {call.name}({call.arguments}) #{call.id}" for call in message.tool_calls]
    return out


def topics(trace: Trace) -> dict[str, int]:
    return dict(Counter(note.topic for note in trace.notes))


def _head(message: Message) -> str:
    head = message.role
    if message.tool_call_id is not None:
        head += f" #{message.tool_call_id}"
    if message.name and message.role != "tool":
        head += f" ({message.name})"
    return head + ("!" if message.extra.get("is_error") else "")
