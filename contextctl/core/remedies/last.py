"""Last resorts: only when the window would overflow, after everything that loses less.

The newest exchange stays, but its results may become references; long user messages keep their
first 1,000 characters and a ref. What is still too large then is an overflow, and says so.
"""

from __future__ import annotations

from contextctl.core.count import message_parts
from contextctl.core.fold.state import State
from contextctl.core.fold.stretches import units_from
from contextctl.core.fold.view import Piece
from contextctl.core.remedies.offload import refer_largest
from contextctl.model.ledger import Action
from contextctl.model.message import Message

USER_HEAD_CHARS = 1_000
LEAST_CHARS = 120
CUT = {
    "en": "\n[… {omitted:,} more characters of this message: {ref}]",
    "zh": "\n[… 本条消息还有 {omitted:,} 个字符：{ref}]",
}


def shorten_user_text(state: State, goal: int) -> None:
    """Cut long earlier user messages after their first 1,000 characters, oldest first."""
    _shorten(state, goal, USER_HEAD_CHARS)


def shorten_all_user_text(state: State, goal: int) -> None:
    """Leave only the beginning of every earlier user message: the window holds nothing else."""
    _shorten(state, goal, LEAST_CHARS)


def _shorten(state: State, goal: int, keep: int) -> None:
    if not state.profile.remedies.trim:
        return
    view = state.view
    users = [i for i, piece in enumerate(view.pieces) if piece.kind == "user"]
    for index in [*users[1:], *users[:1]]:  # the first one is the task: it is cut last
        if state.total <= goal:
            return
        piece = view.pieces[index]
        if piece is not state.question and len(piece.raw) > keep * 1.2:
            fresh = _shortened(state, piece, keep)
            if fresh.tokens < piece.tokens:
                state.take(fresh.action)
                view.replace(index, index + 1, [fresh])


def refer_newest(state: State, goal: int) -> None:
    """Refer any result that is left, the newest ones included, largest first."""
    if not state.profile.remedies.offload:
        return
    refer_largest(state, goal, units_from(state.view.pieces, 0))


def _shortened(state: State, piece: Piece, keep: int) -> Piece:
    ref = piece.ref or state.offload(piece.raw)
    form = CUT[state.profile.shaping.locale]
    text = piece.raw[:keep] + form.format(omitted=len(piece.raw) - keep, ref=ref)
    message = Message(role="user", content=text)
    tokens = sum(message_parts(message, state.counter).values())
    action = Action(
        kind="trim",
        target=piece.event,
        bucket="history",
        tokens_before=piece.tokens,
        tokens_after=tokens,
        rule="/history",
        origin=state.profile.origin("/history"),
        ref=ref,
    )
    return Piece(
        seq=piece.seq,
        step=piece.step,
        kind="user",
        message=message.to_openai(),
        parts=((piece.parts[0][0], tokens),),
        raw=piece.raw,
        facts=piece.facts,
        action=action,
        ref=ref,
        event=piece.event,
        settled=piece.settled,
    )
