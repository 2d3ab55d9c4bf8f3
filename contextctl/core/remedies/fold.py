"""Fold: when digests together outgrow their room, the oldest say less, and at last only a ref.

Folding rewrites the front of the window, so it is done rarely and deep: only inside a batch, and
from the oldest digest on until there is room for several more batches. User messages that stand
between digests stay for as long as they fit; then long ones keep their first 1,000 characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from contextctl.core.fold.joined import join_stretches, store_stretch
from contextctl.core.fold.state import State
from contextctl.core.fold.stretches import Unit, live_start, stretch_texts
from contextctl.core.fold.view import Piece, Segment, Stretch
from contextctl.core.remedies.trim import digest_piece, stretch_list

LEVELS = (1, 2, 3)
# How far below the goal a fold goes, so that the next batches need none.
SLACK = 0.1
# Digests stay whole while a batch leaves this much of the window free below the trigger: what they
# carry is worth more than the last tokens down to the target (bench/retention.py).
LEAST_ROOM = 0.03
# More refs than this in one digest become a list that is itself stored under a ref.
MAX_REFS = 40
FIXED = ("system", "pins")


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
    _merge_runs(state)


def fold_crowded(state: State, goal: int) -> None:
    """Fold only when digests leave a batch hardly any room below the trigger."""
    trigger = state.allowance.trigger - LEAST_ROOM
    if state.total > max(state.allowance.tokens(trigger, state.fixed), goal):
        fold_digests(state, goal)


def absorb_oldest(state: State, goal: int) -> None:
    """The oldest half of what earlier batches left, user messages included, behind one digest.

    Only when the window would overflow otherwise: a task of thousands of turns, whose user
    messages no longer fit. They stay readable under the digest's ref.
    """
    pieces = state.view.pieces
    stop = live_start(pieces)
    if state.question in pieces[:stop]:
        stop = pieces.index(state.question)
    start = next((i for i, piece in enumerate(pieces[:stop]) if piece.settled), stop)
    while state.total > goal and stop - start >= 2:
        end = start + max((stop - start) // 2, 2)
        before = len(pieces)
        _merge(state, start, end)
        stop -= before - len(pieces)


def absorb_head(state: State, goal: int) -> None:
    """Everything before the newest question but the system text by ref; at last the task as well.

    The very last resort: what is left is the newest exchange and one line that leads to the rest.
    """
    if not state.profile.remedies.trim:
        return
    for keep_task, max_refs in ((True, MAX_REFS), (True, 1), (False, 1)):
        if state.total <= goal:
            return
        _absorb(state, keep_task=keep_task, max_refs=max_refs)


def _absorb(state: State, *, keep_task: bool, max_refs: int) -> None:
    pieces = state.view.pieces
    start = next((i for i, piece in enumerate(pieces) if piece.kind not in FIXED), 0)
    stop = live_start(pieces)
    if state.question in pieces[:stop]:
        stop = pieces.index(state.question)
    if keep_task:
        first = next((i for i in range(start, stop) if pieces[i].kind == "user"), None)
        start = start if first is None else first + 1
    if stop > start:
        _merge(state, start, stop, max_refs)


def _merge_runs(state: State) -> None:
    """Digests that say nothing but their ref and stand side by side become one."""
    start = 0
    pieces = state.view.pieces
    while start < len(pieces):
        end = start
        while end < len(pieces) and _is_bare(pieces[end]):
            end += 1
        if end - start >= 2:
            _merge(state, start, end)
        start += 1


def _is_bare(piece: Piece) -> bool:
    return piece.segment is not None and piece.segment.level == LEVELS[-1]


def _merge(state: State, start: int, end: int, max_refs: int = MAX_REFS) -> None:
    gone = state.view.pieces[start:end]
    stretches: list[Stretch] = []
    for piece in gone:
        known = piece.segment or piece.summarised
        if known is not None:
            stretches.extend(known.stretches)
        else:
            unit = Unit(0, 1, piece.kind, (piece,))
            stretches.extend(store_stretch(state, *part) for part in stretch_texts([unit]))
    stood = ((piece.segment or piece.summarised, piece.tokens) for piece in gone)
    before = sum(known.before if known else tokens for known, tokens in stood)
    joined = join_stretches(state, stretches)
    segment = Segment((), _listed(state, joined, max_refs), before, LEVELS[-1])
    first, last = gone[0].step, stretches[-1].last if stretches else gone[-1].step
    fresh = digest_piece(state, segment, first, last, gone[0].event)
    state.take(fresh.action)
    state.view.replace(start, end, [fresh])


def _listed(state: State, stretches: Sequence[Stretch], most: int) -> tuple[Stretch, ...]:
    """``stretches``, the older ones behind the ref of a list when there are too many."""
    if len(stretches) <= most:
        return tuple(stretches)
    cut = len(stretches) - most // 2
    older, newer = stretches[:cut], stretches[cut:]
    ref = state.offload(stretch_list(older, "\n") + "\n")
    return (Stretch(older[0].first, older[-1].last, ref), *newer)


def _fold(state: State, index: int, piece: Piece, segment: Segment, level: int) -> None:
    lines = () if level == LEVELS[-1] else tuple(line.folded(level) for line in segment.lines)
    folded = replace(segment, lines=lines, level=level)
    last = segment.lines[-1].number if segment.lines else piece.step
    fresh = digest_piece(state, folded, piece.step, last, piece.event)
    state.take(fresh.action)
    state.view.replace(index, index + 1, [fresh])
