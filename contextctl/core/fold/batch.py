"""A batch: the one moment at which older material is touched.

It starts when the window reaches the reduce trigger (or would overflow), goes down the ladder of
remedies until the target is met, and everything it decides then stays. Between two batches the
window only grows at its tail, so a provider's prompt cache keeps its prefix (SPEC L9).
"""

from __future__ import annotations

from contextctl.core.fold.caps import over_caps, reduce_to_caps, tell_caps
from contextctl.core.fold.drift import with_task
from contextctl.core.fold.pairs import close_open_calls
from contextctl.core.fold.pins import accept_pins
from contextctl.core.fold.prefix import accept_environment
from contextctl.core.fold.recalled import recall_older, remember
from contextctl.core.fold.state import State
from contextctl.core.fold.stretches import least_tokens, live_start
from contextctl.core.fold.tail import tail_message
from contextctl.core.fold.tool_array import keep_discovered, load_at_batch, refresh_tools
from contextctl.core.remedies import LADDER, LAST_RESORTS, SACRIFICES
from contextctl.core.remedies.compact import answer, compact_when_due
from contextctl.core.remedies.trim import trim_to_recent
from contextctl.model.record import SummaryMade


def settle(state: State) -> None:
    """Make the window sendable: pairs closed, tools current, reduced if it is time to."""
    close_open_calls(state)
    remember(state)
    refresh_tools(state)
    state.tail = tail_message(state)
    state.zone_before = state.zone
    compact_when_due(state, reduced=_reduce(state))
    _fit(state)


def answered(state: State, event: SummaryMade) -> None:
    """A summary that a model made for the step being settled takes the mechanical one's place."""
    if answer(state, event):
        _fit(state)


def _fit(state: State) -> None:
    """What is still too large after everything that loses less."""
    if not state.profile.remedies.any_on:
        return  # the record as it was: nothing is left out, and nothing is said beside it
    for remedy in LAST_RESORTS:
        if state.total <= state.allowance.usable:
            break
        remedy(state, state.allowance.usable)
    if _can_fit(state):
        for remedy in SACRIFICES:
            if state.total <= state.allowance.usable:
                break
            remedy(state, state.allowance.usable)
    keep_discovered(state)
    refresh_tools(state)
    recall_older(state)
    with_task(state)
    tell_caps(state)


def _reduce(state: State) -> bool:
    """Go down the ladder if it is time to; whether the remedies on it were tried."""
    room = max(state.allowance.usable - state.fixed, 0)
    live, capped = _live_is_full(state, room), any(over_caps(state))
    if not live and not capped and not state.allowance.must_reduce(state.total, state.fixed):
        return False
    if live:
        _begin(state)
        trim_to_recent(state, int((state.profile.history.recent_share or 0.0) * room))
    if capped:
        reduce_to_caps(state)
    tried = live or state.allowance.must_reduce(state.total, state.fixed)
    if tried:
        _begin(state)
        goal = state.allowance.tokens(state.allowance.target, state.fixed)
        for remedy in LADDER:
            if state.total <= goal:
                break
            remedy(state, goal)
            refresh_tools(state)  # the first ref brings its reader: count it before going on
    return tried


def _can_fit(state: State) -> bool:
    """Whether giving up earlier user text makes the step fit; if not, it is kept for later ones."""
    pieces = state.view.pieces
    rest = state.total - state.view.total
    return rest + least_tokens(pieces, state.question) <= state.allowance.usable


def _live_is_full(state: State, room: int) -> bool:
    """Whether the steps since the last batch outgrew their share of the window."""
    share = state.profile.history.live_share
    if share is None:
        return False
    start = live_start(state.view.pieces)
    return state.view.tokens_from(start) > share * room


def _begin(state: State) -> None:
    """The prefix is about to be rewritten anyway: what waited at the tail enters it now."""
    accept_environment(state)
    accept_pins(state)
    load_at_batch(state)
    state.tail = tail_message(state)
