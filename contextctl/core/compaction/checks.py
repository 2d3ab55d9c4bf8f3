"""What must hold after a compaction. A window that fails is not shown: the one before stays."""

from __future__ import annotations

from collections import Counter

from contextctl.core.compaction.plan import todo_count
from contextctl.core.fold.pins import missing_pins
from contextctl.core.fold.state import State
from contextctl.core.fold.view import Piece
from contextctl.core.summary.pinned import is_sentence

PINS = "pins: a pin does not stand in the window exactly once"
TODO = "todo: the number of todo items changed"
PAIRS = "pairs: a call is not answered right after it"
SIZE = "size: the window did not get smaller"
FIRST = "first: the first message of the user is gone"
NEWEST = "newest: the newest message is gone"


def faults_after(before: State, after: State) -> tuple[str, ...]:
    """What went wrong between two states, named; empty when the compaction may stand."""
    found = {
        PINS: not _pins_stand(after),
        TODO: todo_count(after.tail) != todo_count(before.tail),
        PAIRS: not pairs_hold(after.view.pieces),
        SIZE: after.total >= before.total,
        FIRST: _users(before)[:1] != _users(after)[:1],
        NEWEST: before.view.pieces[-1:] != after.view.pieces[-1:],
    }
    return tuple(name for name, failed in found.items() if failed)


def pairs_hold(pieces: list[Piece]) -> bool:
    """Whether every call is answered directly after the message that made it, and only there."""
    open_ids: Counter[str] = Counter()
    for piece in pieces:
        message = piece.message
        if message.get("role") == "tool":
            call_id = str(message.get("tool_call_id"))
            if not open_ids[call_id]:
                return False
            open_ids[call_id] -= 1
            continue
        if open_ids.total():
            return False
        calls = message.get("tool_calls")
        listed = calls if isinstance(calls, list) else []
        open_ids = Counter(str(call.get("id")) for call in listed if isinstance(call, dict))
    return not open_ids.total()


def _pins_stand(state: State) -> bool:
    if missing_pins(state):
        return False
    summaries = [
        str(piece.message.get("content")) for piece in state.view.pieces if piece.kind == "summary"
    ]
    return not any(
        is_sentence(text) and text in summary
        for text in state.pins.values()
        for summary in summaries
    )


def _users(state: State) -> list[int]:
    return [id(piece) for piece in state.view.pieces if piece.kind == "user"]
