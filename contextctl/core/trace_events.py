"""A trace as the events of a record, in the order in which they happened.

Nothing is repaired here: late, duplicate and orphan results stay facts, and pairing is the
business of the view. Only an id that names two calls is made distinct, since an id has to name one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from contextctl.model.record import (
    Event,
    MessageAdded,
    Noted,
    ResultArrived,
    ToolsListed,
    UsageReported,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.model.message import Json, Message, ToolCall
    from contextctl.model.trace import Trace, TraceNote, UsageFact

_ERROR_KEYS = ("is_error", "isError")


@dataclass(slots=True)
class _Calls:
    """The calls made so far: which call a result with a given recorded id answers."""

    taken: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, list[str]] = field(default_factory=dict)
    latest: dict[str, str] = field(default_factory=dict)

    def ask(self, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        """The calls of one assistant turn, each under an id no earlier call has."""
        renamed = []
        for recorded in {call.id for call in calls}:
            self.waiting[recorded] = []
        for call in calls:
            distinct = self._distinct(call.id)
            self.taken.add(distinct)
            self.names[distinct] = call.name
            self.waiting[call.id].append(distinct)
            self.latest[call.id] = distinct
            renamed.append(call if distinct == call.id else replace(call, id=distinct))
        return tuple(renamed)

    def answer(self, recorded: str) -> str:
        """The id of the call answered: the first still open one of the last turn that used it."""
        waiting = self.waiting.get(recorded)
        if waiting:
            return waiting.pop(0)
        return self.latest.get(recorded, recorded)

    def _distinct(self, recorded: str) -> str:
        candidate, count = recorded, 1
        while candidate in self.taken:
            count += 1
            candidate = f"{recorded}_{count}"
        return candidate


def trace_events(trace: Trace) -> Iterator[Event]:
    """The facts of a trace: its tools, then messages, results, usage and notes as they came.

    A usage stands right after its assistant turn; a note stands where it stood in the trace.
    """
    if trace.tools:
        yield ToolsListed(source="trace", tools=trace.tools)
    notes = sorted(trace.notes, key=lambda note: note.after)
    calls, turn, at = _Calls(), 0, 0
    for position, message in enumerate(trace.messages):
        while at < len(notes) and notes[at].after <= position:
            yield _noted(notes[at])
            at += 1
        if message.role == "tool":
            yield _result(message, calls)
            continue
        if message.role != "assistant":
            yield MessageAdded(message)
            continue
        turn += 1
        yield MessageAdded(replace(message, tool_calls=calls.ask(message.tool_calls)))
        if turn in trace.usages:
            yield _usage(turn, trace.usages[turn])
    for note in notes[at:]:
        yield _noted(note)


def result_text(content: str | list[Json] | None) -> tuple[str, str]:
    """The text of a tool message's content, and the MIME type of its first part that is not text.

    A part that is not text is described by kind and size: bytes never enter a window as text.
    """
    if content is None:
        return "", ""
    if isinstance(content, str):
        return content, ""
    texts, media = [], ""
    for part in content:
        text, kind = _part_text(part)
        texts.append(text)
        media = media or kind
    return "\n".join(texts), media


def _part_text(part: Json) -> tuple[str, str]:
    if isinstance(part, str):
        return part, ""
    if not isinstance(part, dict):
        return json.dumps(part, ensure_ascii=False), ""
    if isinstance(part.get("text"), str):
        return str(part["text"]), ""
    mime, size = _media(part)
    if mime:
        return f"[{mime}, {size:,} bytes, not shown as text]", mime
    return json.dumps(part, ensure_ascii=False), ""


def _media(part: dict[str, Json]) -> tuple[str, int]:
    """The MIME type and size in bytes of an image, audio or file part; ``("", 0)`` for others."""
    kind = str(part.get("type") or "")
    inner: Json = part.get(kind) or part.get("source") or part
    if isinstance(inner, str):
        inner = {"url": inner}
    if not isinstance(inner, dict):
        return "", 0
    url = str(inner.get("url") or inner.get("file_data") or "")
    encoded = str(inner.get("data") or "")
    mime = str(inner.get("media_type") or inner.get("mimeType") or inner.get("mime_type") or "")
    if url.startswith("data:"):
        head, _, encoded = url.partition(",")
        mime = mime or head.removeprefix("data:").split(";")[0]
    if not mime and kind.startswith(("image", "input_image")):
        mime = "image/*"
    if not mime and kind.startswith(("audio", "input_audio")):
        mime = "audio/*"
    return mime, len(encoded) * 3 // 4 - encoded[-2:].count("=")


def _result(message: Message, calls: _Calls) -> ResultArrived:
    call_id = calls.answer(message.tool_call_id or "")
    text, media = result_text(message.content)
    failed = any(message.extra.get(key) is True for key in _ERROR_KEYS)
    return ResultArrived(
        call_id=call_id,
        name=calls.names.get(call_id) or message.name or "",
        content=text,
        status="error" if failed else "ok",
        media=media,
        extra={key: value for key, value in message.extra.items() if key not in _ERROR_KEYS},
    )


def _usage(turn: int, fact: UsageFact) -> UsageReported:
    return UsageReported(
        step=turn,
        model=fact.model,
        prompt_tokens=fact.prompt_tokens,
        completion_tokens=fact.completion_tokens,
        cached_tokens=fact.cached_tokens,
        cache_write_tokens=fact.cache_write_tokens,
        cost_usd=fact.cost_usd,
        traced=True,
    )


def _noted(note: TraceNote) -> Noted:
    return Noted(topic=note.topic, body=note.body)
