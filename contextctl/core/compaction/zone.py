"""The zone of a compaction: which messages leave for a summary, and which stay where they are.

Behind the head and before the protected steps everything leaves but messages of the user, system
messages, and earlier summaries. Users' messages leave only when the window does not get small
enough without that; summaries only when they are merged, which takes new messages as well.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from contextctl.core.fold.state import State
from contextctl.core.fold.stretches import Unit, head_end, units_from
from contextctl.core.fold.view import Piece

STAYING = ("system", "pins", "user")
LEAST_MESSAGES = 4
# Less than this is not worth a heading and a broken prefix.
LEAST_TOKENS = 120


@dataclass(frozen=True, slots=True)
class Zone:
    """``pieces[start:stop]`` of the view; ``leaving`` and ``staying`` are the pieces in it."""

    start: int
    stop: int
    leaving: tuple[Piece, ...]
    staying: tuple[Piece, ...]

    @property
    def tokens(self) -> int:
        """What leaves the window, in tokens."""
        return sum(piece.tokens for piece in self.leaving)

    @property
    def merged(self) -> tuple[Piece, ...]:
        """The summaries that go into the next generation."""
        return tuple(piece for piece in self.leaving if piece.summarised is not None)

    @property
    def units(self) -> list[Unit]:
        """What leaves, as units; a call and its results are one."""
        return units_from(self.leaving, 0)


def find_zone(state: State, *, merge: bool = False, users: Collection[int] = ()) -> Zone | None:
    """The zone as of now; None when there is nothing to compact.

    ``merge`` takes earlier summaries too, ``users`` are ids of user pieces that leave as well.
    """
    pieces = state.view.pieces
    first, stop = head_end(pieces), _stop(state)
    if _old_messages(pieces[:stop]) < LEAST_MESSAGES:
        return None
    start = first if merge else _after_summaries(pieces, first, stop)
    start = min([start, *(i for i in range(first, stop) if id(pieces[i]) in users)])
    inside = pieces[start:stop]
    leaving = tuple(piece for piece in inside if _leaves(piece, merge=merge, users=users))
    fresh = sum(piece.tokens for piece in leaving if piece.summarised is None)
    if fresh < LEAST_TOKENS:
        return None
    gone = {id(piece) for piece in leaving}
    while id(pieces[start]) not in gone:
        start += 1
    staying = tuple(piece for piece in pieces[start:stop] if id(piece) not in gone)
    return Zone(start, stop, leaving, staying)


def user_pieces(state: State) -> list[Piece]:
    """Users' messages that could leave, oldest first: not the first, not the question."""
    pieces = state.view.pieces
    stop = _stop(state)
    users = [piece for piece in pieces if piece.kind == "user"]
    return [
        piece
        for piece in pieces[head_end(pieces) : stop]
        if piece.kind == "user" and piece is not users[0] and piece is not state.question
    ]


def summary_tokens(state: State) -> int:
    """What the summaries in the window take together."""
    return sum(piece.tokens for piece in state.view.pieces if piece.kind == "summary")


def tail_tokens(state: State) -> int:
    """What stands behind everything that a compaction can take, the tail block included."""
    return state.view.tokens_from(_stop(state)) + (state.tail[1] if state.tail else 0)


def _stop(state: State) -> int:
    """The first piece that is protected: of the last steps, or of the newest unit."""
    pieces = state.view.pieces
    units = units_from(pieces, head_end(pieces))
    if not units:
        return len(pieces)
    steps = [unit for unit in units if unit.is_step]
    protect = state.profile.compaction.protect_steps
    if protect and steps:
        return min(steps[-min(protect, len(steps))].start, units[-1].start)
    return units[-1].start


def _after_summaries(pieces: Sequence[Piece], first: int, stop: int) -> int:
    at = first
    for index in range(first, stop):
        if pieces[index].kind == "summary":
            at = index + 1
    return at


def _leaves(piece: Piece, *, merge: bool, users: Collection[int]) -> bool:
    if piece.kind == "summary":
        return merge
    return piece.kind not in STAYING or id(piece) in users


def _old_messages(pieces: Sequence[Piece]) -> int:
    """Messages of the conversation; a digest counts for those it stands for."""
    count = 0
    for piece in pieces:
        if piece.segment is not None:
            count += max(2 * len(piece.segment.lines), 2)
        elif piece.kind not in ("system", "pins"):
            count += 1
    return count
