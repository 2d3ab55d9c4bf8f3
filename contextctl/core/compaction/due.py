"""When a compaction is due, and when trying it again is of no use.

The end of a stage comes first: what was done is easiest to say then. Counting steps is next; the
ratio is the fallback, after every other remedy. Two poor compactions in a row pause all of them
until the window has grown, and one message says what stands in the way (SPEC C9).
"""

from __future__ import annotations

from contextctl.core.compaction.zone import tail_tokens, user_pieces
from contextctl.core.fold.state import State
from contextctl.core.fold.stretches import head_end
from contextctl.model.ledger import Action

RULE = "/compaction/pause"
# How far below the reduce target a ratio stands on its own.
EARLY = 0.1
# What a summary usually spares of what it stands for.
USUAL_SAVING = 0.5


def due(state: State, *, reduced: bool) -> str | None:
    """What makes a compaction due now: ``stage_end``, ``every_steps`` or ``ratio``; else None.

    ``reduced`` tells whether the other remedies were tried in this step.
    """
    profile, memory = state.profile, state.compacting
    when = profile.compaction.when
    if not profile.remedies.compact or profile.history.strategy != "summary_recent":
        return None
    stage_ended, memory.stage_ended = memory.stage_ended, False
    if _is_paused(state):
        return None
    if stage_ended and when.stage_end:
        return "stage_end"
    if when.every_steps and state.step - memory.last_step >= when.every_steps:
        return "every_steps"
    return "ratio" if (reduced or is_early(state)) and over_ratio(state) else None


def is_early(state: State) -> bool:
    """Whether a profile wants its history compacted long before anything else is reduced.

    A ratio that far below the reduce target says so: the other remedies never have to act there.
    """
    target = state.profile.budget.reduce.target
    return state.profile.compaction.when.ratio < target - EARLY


def over_ratio(state: State) -> bool:
    """Whether the window stands at the ratio that starts a compaction, or does not fit.

    Where the reduce target lies above that ratio, a window at the target is small enough.
    """
    return state.total >= threshold(state)


def saved_enough(state: State, before: int, after: int) -> bool:
    """Whether a compaction saved what a profile asks for, of the window as it was."""
    return before - after >= state.profile.compaction.pause.min_saving * before


def is_too_little(state: State, leaving: int) -> bool:
    """Whether the end of a stage is no reason yet: there is room, and the saving would be a poor
    one, for which the prefix would break. The next stage's end takes it along."""
    least = state.profile.compaction.pause.min_saving * state.total
    return state.zone == "safe" and leaving * USUAL_SAVING < least


def note_saving(state: State, before: int) -> None:
    """Count a compaction that was tried; pause after too many poor ones in a row."""
    memory, pause = state.compacting, state.profile.compaction.pause
    memory.poor = 0 if saved_enough(state, before, state.total) else memory.poor + 1
    if memory.poor >= pause.after:
        pause_now(state)


def pause_now(state: State) -> None:
    """No more tries until the window has grown; the step says why."""
    memory = state.compacting
    memory.paused_at = max(state.total, 1)
    action = Action(
        kind="pause",
        target="compaction",
        bucket="history",
        tokens_before=state.total,
        tokens_after=state.total,
        rule=RULE,
        origin=state.profile.origin(RULE),
    )
    memory.pause = action
    state.take(action)
    state.warn(_why(state))


def threshold(state: State) -> int:
    """The total in tokens from which the ratio starts a compaction."""
    allowed = state.allowance
    ratio = state.profile.compaction.when.ratio
    if not is_early(state):
        ratio = max(ratio, allowed.target)
    return min(allowed.tokens(ratio, state.fixed), allowed.usable) + (allowed.target >= ratio)


def _is_paused(state: State) -> bool:
    memory = state.compacting
    if not memory.paused_at:
        return False
    growth = 1 + state.profile.compaction.pause.resume_growth
    if state.total >= memory.paused_at * growth or state.total > state.allowance.usable:
        memory.paused_at, memory.poor, memory.pause = 0, 0, None
        return False
    return True


def _held(state: State) -> int:
    """The fixed part: everything up to the end of the head, tool schemas and what is unseen."""
    view = state.view
    head = view.total - view.tokens_from(head_end(view.pieces))
    return head + sum(state.tool_parts.values()) + state.unseen


def _why(state: State) -> str:
    held, tail, limit = _held(state), tail_tokens(state), threshold(state)
    parts = {**state.view.parts, **state.tool_parts}
    if state.tail:
        parts["query.reminders"] = state.tail[1]
    largest = sorted(parts.items(), key=lambda part: (-part[1], part[0]))[:3]
    told = ", ".join(f"{name} {tokens:,}" for name, tokens in largest)
    pause = state.profile.compaction.pause
    users = sum(piece.tokens for piece in user_pieces(state))
    if held + tail > limit:
        what = (
            f"fixed part {held:,} tokens + tail {tail:,} > threshold {limit:,}: compaction "
            "cannot help"
        )
    elif state.compacting.poor < pause.after:
        what = (
            f"what may leave would save under {pause.min_saving:.0%} of the window (fixed part "
            f"{held:,} tokens, tail {tail:,}, messages of users that fit {users:,}, threshold "
            f"{limit:,})"
        )
    else:
        what = (
            f"{pause.after} in a row saved under {pause.min_saving:.0%} of the window (fixed part "
            f"{held:,} tokens, tail {tail:,}, messages of users that fit {users:,}, threshold "
            f"{limit:,})"
        )
    return f"compaction is paused: {what}; largest: {told}"
