"""Pairing: every call is answered, directly after the message that made it.

Providers refuse a window in which a tool result does not follow its call, or a call stays open.
The record may hold such things (a crash, an abort, a late answer); the view never does.
"""

from __future__ import annotations

from contextctl.core.count import message_parts
from contextctl.core.fold.state import State
from contextctl.core.fold.view import Piece
from contextctl.model.message import Message

NO_RESULT = {
    "en": "(no result was recorded for this call: it was interrupted or not run)",
    "zh": "（此调用没有结果记录：已中断或未执行）",
}


def close_open_calls(state: State) -> None:
    """Answer every open call with a note, before anybody else speaks."""
    locale = state.profile.shaping.locale
    for call in tuple(state.open_calls.values()):
        message = Message(role="tool", content=NO_RESULT[locale], tool_call_id=call.id)
        parts = message_parts(message, state.counter)
        state.view.append(
            Piece(
                seq=state.at,
                step=state.step,
                kind="result",
                message=message.to_openai(),
                parts=(("tool_results." + call.name, sum(parts.values())),),
                raw=NO_RESULT[locale],
                name=call.name,
                call_id=call.id,
                event=state.event,
            )
        )
        state.closed_calls[call.id] = call.name
        state.compacting.repaired.append((call.id, call.name))
    state.open_calls.clear()
    place_strays(state)


def place_strays(state: State) -> None:
    """Append notes of stray results, which must not stand between a call and its results."""
    if not state.open_calls:
        for piece in state.strays:
            state.view.append(piece)
        state.strays.clear()
