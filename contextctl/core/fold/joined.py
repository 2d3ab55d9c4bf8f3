"""Stretches side by side become one: fewer refs stand in the window, and each still leads to text.

Every batch stores what it took under a ref of its own. Where many of them come together, a ref to a
list of refs would save the same tokens, but whoever follows it finds no text, only more refs.
"""

from __future__ import annotations

from collections.abc import Sequence

from contextctl.core.fold.state import State
from contextctl.core.fold.stretches import STRETCH_CHARS
from contextctl.core.fold.view import Stretch

# A longer text is near enough to the bound to stay alone, and is not held for joining. So what is
# held is bounded by the window: each text has its ref in it.
JOINABLE_CHARS = STRETCH_CHARS // 2


def store_stretch(state: State, text: str, first: int, last: int) -> Stretch:
    """Store the text of the steps from ``first`` to ``last``."""
    held = text if len(text) <= JOINABLE_CHARS else ""
    return Stretch(first, last, state.offload(text), held)


def join_stretches(state: State, stretches: Sequence[Stretch]) -> tuple[Stretch, ...]:
    """``stretches`` in order, neighbours stored as one as far as a ref may lead."""
    out: list[Stretch] = []
    run: list[Stretch] = []

    def end_run() -> None:
        if len(run) > 1:
            text = "".join(one.text for one in run)
            out.append(store_stretch(state, text, run[0].first, run[-1].last))
        else:
            out.extend(run)
        run.clear()

    for one in stretches:
        size = sum(len(other.text) for other in run) + len(one.text)
        if not one.text or size > STRETCH_CHARS:
            end_run()
        run.append(one)
        if not one.text:
            end_run()
    end_run()
    return tuple(out)
