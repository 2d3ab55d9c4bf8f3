"""Offload: what is still large after shaping and trimming stands in the window as a reference."""

from __future__ import annotations

from contextctl.core.remedies.shape import refer
from contextctl.core.state import State
from contextctl.core.stretches import Unit, live_start, units_from


def offload_large(state: State, goal: int) -> None:
    """Refer results outside the protected steps, largest first, until ``goal``."""
    profile = state.profile
    if not profile.remedies.offload:
        return
    pieces = state.view.pieces
    steps = [unit for unit in units_from(pieces, live_start(pieces)) if unit.is_step]
    refer_largest(state, goal, steps[: -profile.compaction.protect_steps or None])


def refer_largest(state: State, goal: int, steps: list[Unit]) -> None:
    """Refer the results of ``steps``, largest first, until ``goal``."""
    places = [
        (piece.tokens, unit.start + offset, piece)
        for unit in steps
        for offset, piece in enumerate(unit.pieces)
        if piece.kind == "result"
    ]
    for _, index, piece in sorted(places, key=lambda place: (-place[0], place[1])):
        if state.total <= goal:
            return
        refer(state, index, piece)
