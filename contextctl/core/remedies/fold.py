"""Fold: when digests together outgrow their room, the oldest say less, and at last only a ref.

Folding rewrites the front of the window, so it is done rarely and deep: only inside a batch, and
from the oldest digest on until there is room for several more batches. User messages that stand
between digests stay for as long as they fit; then long ones keep their first 1,000 characters.
"""

from __future__ import annotations

from dataclasses import replace

from contextctl.core.remedies.trim import digest_piece
from contextctl.core.state import State
from contextctl.core.view import Piece, Segment

LEVELS = (1, 2, 3)
# How far below the goal a fold goes, so that the next batches need none.
SLACK = 0.15


def fold_digests(state: State, goal: int) -> None:
    """Fold the oldest digests, one level after the other, until well below ``goal``."""
    low = int(goal - SLACK * state.allowance.usable)
    for level in LEVELS:
        for index in range(len(state.view.pieces)):
            if state.total <= low:
                return
            piece = state.view.pieces[index]
            segment = piece.segment
            if segment is not None and segment.level < level:
                _fold(state, index, piece, segment, level)


def _fold(state: State, index: int, piece: Piece, segment: Segment, level: int) -> None:
    lines = () if level == LEVELS[-1] else tuple(line.folded(level) for line in segment.lines)
    folded = replace(segment, lines=lines, level=level)
    last = segment.lines[-1].number if segment.lines else piece.step
    fresh = digest_piece(state, folded, piece.step, last, piece.event)
    state.view.replace(index, index + 1, [fresh])
