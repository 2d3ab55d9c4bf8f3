"""Digests of steps that left the window. (First version.)"""

from __future__ import annotations

from collections.abc import Sequence, Set

from contextctl.core.view import Piece


def step_line(pieces: Sequence[Piece], seen: Set[str], identifiers: int) -> tuple[str, list[str]]:
    """One step as one line, and the values it carries; ``seen`` stand elsewhere in the window."""
    head = pieces[0]
    text = head.raw.replace("\n", " ")[:200]
    carried = [
        value
        for piece in pieces
        if piece.facts
        for value in piece.facts.values
        if value not in seen and value not in text
    ][:identifiers]
    values = f" | {', '.join(carried)}" if carried else ""
    return f"{head.step}. {text}{values}", carried
