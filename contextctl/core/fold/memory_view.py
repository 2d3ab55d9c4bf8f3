"""Recalled memories in the window: one block before the question, apart from what was retrieved.

A memory that was deleted leaves every block it stands in, and the answers of calls that read it: it
is gone from the next window on, whatever that does to a cached prefix.
"""

from __future__ import annotations

from dataclasses import replace

from contextctl.core.count import message_parts
from contextctl.core.fold.pairs import close_open_calls
from contextctl.core.fold.state import State
from contextctl.core.fold.view import Piece
from contextctl.core.memory.text import memory_text
from contextctl.model.message import Message
from contextctl.model.record import MemoryForgotten, MemoryRead

PART = "memory.recalled"
FORGOTTEN = {
    "en": "(memories shown here were deleted)",
    "zh": "（此处显示过的记忆已被删除）",
}


def memory_read(state: State, event: MemoryRead) -> None:
    """Put the memories into the window, unless the answer of a call shows them already."""
    if not event.shown:
        call = next((p.call_id for p in reversed(state.view.pieces) if p.kind == "result"), "")
        state.memory_calls[call] = frozenset(str(item.get("id")) for item in event.items)
        return
    if not event.items:
        return
    close_open_calls(state)
    piece = _piece(state, event, state.event)
    state.memory_reads[state.event] = event
    state.book_raw(dict(piece.parts))
    state.view.append(piece)


def memory_forgotten(state: State, event: MemoryForgotten) -> None:
    """Take deleted memories out of every block and answer that holds one."""
    gone = frozenset(event.ids)
    for at, piece in enumerate(list(state.view.pieces)):
        fresh = _without(state, piece, gone)
        if fresh is not None:
            state.view.replace(at, at + 1, [fresh], "memory")


def _without(state: State, piece: Piece, gone: frozenset[str]) -> Piece | None:
    """The piece without memories that are gone; None when it holds none of them."""
    read = state.memory_reads.get(piece.event) if piece.kind == "retrieved" else None
    if read is not None:
        left = tuple(item for item in read.items if str(item.get("id")) not in gone)
        if len(left) == len(read.items):
            return None
        left_read = replace(read, items=left)
        state.memory_reads[piece.event] = left_read
        return _piece(state, left_read, piece.event, piece)
    if piece.kind == "result" and state.memory_calls.get(piece.call_id, frozenset()) & gone:
        text = FORGOTTEN[state.profile.shaping.locale]
        message = Message(role="tool", content=text, tool_call_id=piece.call_id)
        tokens = sum(message_parts(message, state.counter).values())
        return _like(piece, message, ((piece.parts[0][0], tokens),))
    return None


def _piece(state: State, read: MemoryRead, event: str, old: Piece | None = None) -> Piece:
    locale = state.profile.shaping.locale
    text = memory_text(read.items, locale) or FORGOTTEN[locale]
    message = Message(role="user", content=text)
    parts = ((PART, sum(message_parts(message, state.counter).values())),)
    if old is not None:
        return _like(old, message, parts)
    return Piece(
        seq=state.at,
        step=state.step,
        kind="retrieved",
        message=message.to_openai(),
        parts=parts,
        raw=text,
        event=event,
    )


def _like(old: Piece, message: Message, parts: tuple[tuple[str, int], ...]) -> Piece:
    """Another text in the place of ``old``; what stood there is not kept anywhere."""
    return Piece(
        seq=old.seq,
        step=old.step,
        kind=old.kind,
        message=message.to_openai(),
        parts=parts,
        raw=message.text,
        name=old.name,
        call_id=old.call_id,
        event=old.event,
        settled=old.settled,
    )
