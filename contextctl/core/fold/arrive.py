"""Arrival: how each message of the record enters the view, once and for good.

What a new result may show depends on the zone before it came. It is decided here, and nothing
reshapes it afterwards outside a batch.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from contextctl.core.count import message_parts
from contextctl.core.digest.calls import own_text
from contextctl.core.digest.facts import Facts, extract_facts
from contextctl.core.fold.drift import call_answered
from contextctl.core.fold.pairs import close_open_calls, place_strays
from contextctl.core.fold.pins import pins_behind_system
from contextctl.core.fold.reminders import window_answered
from contextctl.core.fold.results import result_piece, stray_piece
from contextctl.core.fold.state import State
from contextctl.core.fold.tool_array import load
from contextctl.core.fold.view import Parts, Piece
from contextctl.core.tools.arguments import replayable, replayable_name
from contextctl.core.tools.native_search import discovered, without_search
from contextctl.model.message import Message, ToolCall
from contextctl.model.record import MessageAdded, ResultArrived, RetrievedAdded

# Agents without tool calls are told what their commands printed by a "user" of such a name.
OBSERVERS = ("observation", "environment", "tool")
# A person's own words may carry such a name too ("$ open out.html"): short ones stay as they are.
SHORT_OBSERVATION = 400


def add_message(state: State, event: MessageAdded) -> None:
    """A system, user or assistant message."""
    message = event.message
    close_open_calls(state)
    if message.role == "assistant":
        _add_assistant(state, message)
    elif message.role == "user":
        _add_user(state, message)
    else:
        parts = _owned(state, message, "system.task")
        _append(state, "system", message, parts)
        pins_behind_system(state)


def add_result(state: State, event: ResultArrived) -> None:
    """The result of a call, shaped; or a note, when it answers no open call."""
    call = state.open_calls.pop(event.call_id, None)
    if call is None:
        state.strays.append(stray_piece(state, event))
        place_strays(state)
        return
    name = event.name or call.name
    call_answered(state, call, event.content)
    frame = Message(role="tool", tool_call_id=event.call_id)
    state.view.append(result_piece(state, "result", frame, replace(event, name=name)))
    place_strays(state)


def add_retrieved(state: State, event: RetrievedAdded) -> None:
    """Passages found for the question: as many as the zone allows, each with its source. A text
    that was found twice is shown once, under the ids and sources of both."""
    close_open_calls(state)
    limit = state.profile.retrieval.top_k.at(state.zone)
    found: dict[str, list[str]] = {}
    for index, passage in enumerate(event.passages, start=1):
        heading = f"[{passage.get('id') or index}] {passage.get('source') or ''}"
        found.setdefault(str(passage.get("text") or ""), []).append(heading)
    lines = ["\n".join([*headings, text]) for text, headings in found.items()]
    shown = "\n\n".join(lines[:limit])
    if len(lines) > limit:
        rest = state.offload("\n\n".join(lines))
        shown += f"\n\n[{len(lines) - limit} of {len(lines)} passages left out; all: {rest}]"
    message = Message(role="user", content=shown)
    _append(state, "retrieved", message, _owned(state, message, "retrieved.passages"), raw=shown)


def _add_assistant(state: State, message: Message) -> None:
    state.step += 1
    window_answered(state)
    load(state, discovered(message.extra))
    if state.profile.defer.via != "native":
        message = without_search(message)
    if (
        not message.tool_calls
        and not message.text.strip()
        and not isinstance(message.content, list)
    ):
        return  # an aborted turn: providers refuse an empty message
    if isinstance(message.content, str) and not message.content.strip():
        message = replace(message, content=None)
    made = message.tool_calls
    calls = tuple(
        ToolCall(call.id, _shown_name(state, call.name), replayable(call.arguments))
        for call in made
    )
    message = replace(message, tool_calls=calls)
    counted = message_parts(message, state.counter)
    spoken, called = counted["overhead"] + counted["text"], counted["tool_calls"]
    parts: Parts = (("history.text", spoken),)
    if calls:
        parts = (*parts, ("history.tool_calls", called))
    written = (f"{call.name} {replayable(call.arguments)}" for call in made)
    raw = "\n".join([message.text, *written])
    names = ", ".join(dict.fromkeys(call.name for call in calls))
    facts = extract_facts(own_text(message))
    _append(state, "assistant", message, parts, raw=raw, name=names, facts=facts)
    for call in calls:
        state.open_calls[call.id] = call


def _shown_name(state: State, name: str) -> str:
    return replayable_name(name, chain.from_iterable(state.listed.values()))


def _add_user(state: State, message: Message) -> None:
    if message.name in OBSERVERS:
        kind = "note" if len(message.text) > SHORT_OBSERVATION else "user"
        part = f"tool_results.{message.name}"
        _append(state, kind, message, _owned(state, message, part), name=str(message.name))
        return
    if state.question is not None:
        tokens = state.question.tokens
        state.view.relabel(state.question, (("history.user", tokens),))
        state.book_raw({"query.text": -tokens, "history.user": tokens})
    parts = _owned(state, message, "query.text")
    state.question = _append(state, "user", message, parts, raw=message.text)


def _owned(state: State, message: Message, part: str) -> Parts:
    """All tokens of a message as one part."""
    return ((part, sum(message_parts(message, state.counter).values())),)


def _append(
    state: State,
    kind: str,
    message: Message,
    parts: Parts,
    *,
    raw: str = "",
    name: str = "",
    facts: Facts | None = None,
) -> Piece:
    piece = Piece(
        seq=state.at,
        step=state.step,
        kind=kind,
        message=message.to_openai(),
        parts=parts,
        raw=raw or message.text,
        name=name,
        facts=facts or extract_facts(raw or message.text),
        event=state.event,
    )
    state.book_raw(dict(parts))
    state.view.append(piece)
    return piece
