"""The ladder of remedies, one file each, all with one signature: ``(state, goal) -> None``.

``goal`` is a total in tokens; a remedy may stop as soon as the window is at or below it. What a
remedy did stands in the actions of the pieces it left behind. The order is fixed (SPEC C1): what
loses nothing first, what loses most last.
"""

from __future__ import annotations

from collections.abc import Callable

from contextctl.core.fold.state import State
from contextctl.core.remedies.fold import absorb_head, absorb_oldest, fold_crowded, fold_digests
from contextctl.core.remedies.last import refer_newest, shorten_all_user_text, shorten_user_text
from contextctl.core.remedies.offload import offload_large
from contextctl.core.remedies.shape import shape_older
from contextctl.core.remedies.trim import trim_last_step, trim_older, trim_protected

Remedy = Callable[[State, int], None]

LADDER: tuple[Remedy, ...] = (shape_older, trim_older, fold_crowded, offload_large)

# Only when the window would overflow: what the ladder protects, oldest first.
LAST_RESORTS: tuple[Remedy, ...] = (trim_protected, fold_digests, refer_newest, trim_last_step)

# Only when the step then fits: earlier user text, the task last of all.
SACRIFICES: tuple[Remedy, ...] = (
    shorten_user_text,
    absorb_oldest,
    shorten_all_user_text,
    absorb_head,
)
