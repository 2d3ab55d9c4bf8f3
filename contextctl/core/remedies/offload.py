"""Offload: what is still large after shaping and trimming stands in the window as a reference."""

from __future__ import annotations

from collections.abc import Sequence

from contextctl.core.fold.state import State
from contextctl.core.fold.stretches import Unit, older_units
from contextctl.core.remedies.shape import refer


def offload_large(state: State, goal: int) -> None:
    """Refer results outside the protected steps, largest first, until ``goal``."""
    profile = state.profile
    if profile.remedies.offload:
        protect = profile.compaction.protect_steps
        refer_largest(state, goal, older_units(state.view.pieces, protect))


def refer_largest(state: State, goal: int, units: Sequence[Unit]) -> None:
    """Refer the results in ``units``, largest first, until ``goal``."""
    places = [
        (piece.tokens, unit.start + offset, piece)
        for unit in units
        for offset, piece in enumerate(unit.pieces)
        if piece.kind in ("result", "note")
    ]
    for _, index, piece in sorted(places, key=lambda place: (-place[0], place[1])):
        if state.total <= goal:
            return
        refer(state, index, piece)
