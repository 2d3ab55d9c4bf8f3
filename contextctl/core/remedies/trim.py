"""Trim: the oldest steps leave the window; a short digest and a ref stay in their place.

Digests are frozen: made once from the raw steps, appended, never rewritten, so that the prompt
prefix before the newest one always holds. User messages stay verbatim. When digests together
outgrow their share, the oldest of them fold into one line each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from contextctl.core.count import message_parts
from contextctl.core.digest import step_line
from contextctl.core.state import State
from contextctl.core.stretches import Unit, live_start, stretch_texts, units_from
from contextctl.core.view import Piece, Stretch
from contextctl.model.ledger import Action
from contextctl.model.message import Message

RULE = "/history"
HEADING = {
    "en": "[trimmed] Steps {first}..{last} left the window; whole text: {refs}",
    "zh": "[已裁剪] 步骤 {first}..{last} 已移出窗口；原文：{refs}",
}
FOLDED = {
    "en": "[trimmed] Earlier steps left the window; their whole text by ref:",
    "zh": "[已裁剪] 更早的步骤已移出窗口；原文引用：",
}


def trim_older(state: State, goal: int) -> None:
    """Trim what is neither protected nor among the turns the zone lets stay, until ``goal``."""
    _trim(state, goal, protect=state.profile.compaction.protect_steps)


def trim_protected(state: State, goal: int) -> None:
    """Trim protected steps as well, oldest first; the newest unit stays."""
    _trim(state, goal, protect=1)
    fold_digests(state, keep_share=0.0, goal=goal)


def _trim(state: State, goal: int, protect: int) -> None:
    profile = state.profile
    if not profile.remedies.trim or profile.history.strategy == "keep_all":
        return
    view = state.view
    units = units_from(view.pieces, live_start(view.pieces))
    free = units[: _protected_from(units, protect)]
    if not free:
        return
    digests = _Digests(state)
    cut = _cut(state, free, units, goal, digests)
    if not cut:
        return
    fresh = digests.pieces(free[:cut])
    view.replace(free[0].start, free[cut - 1].stop, fresh)
    share = profile.history.digest.max_share
    if _digest_tokens(view.pieces) > share * state.allowance.usable:
        fold_digests(state, keep_share=share / 2, goal=0)


def _protected_from(units: Sequence[Unit], protect: int) -> int:
    """The index of the first unit that has to stay: the last ``protect`` steps, and the newest."""
    steps = [index for index, unit in enumerate(units) if unit.is_step]
    newest = len(units) - 1
    return min(steps[-protect], newest) if len(steps) >= protect > 0 else min(newest, 0)


def _cut(
    state: State, free: Sequence[Unit], units: Sequence[Unit], goal: int, digests: _Digests
) -> int:
    """How many of the free units leave: until the goal is met and the zone's turns are kept."""
    turns = sum(unit.is_step for unit in units)
    keep = state.profile.history.keep_turns.at(state.zone_before)
    after = state.total
    for index, unit in enumerate(free):
        if after <= goal and turns <= keep:
            return index
        after -= unit.tokens
        if unit.is_step:
            turns -= 1
            after += digests.line_tokens(unit)
        else:
            after += unit.tokens if unit.kind == "user" else 0
    return len(free)


class _Digests:
    """Makes digest pieces for runs of steps, each line counted once."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._rule = state.profile.history.digest
        self._lines: dict[int, str] = {}
        self._seen: set[str] = set()

    def line_tokens(self, unit: Unit) -> int:
        return self._state.counter.text(self._line(unit)) + 1

    def pieces(self, units: Iterable[Unit]) -> list[Piece]:
        """What stays of ``units``: user messages as they are, a digest for each run between them."""
        out: list[Piece] = []
        run: list[Unit] = []
        for unit in units:
            if unit.kind == "user":
                out += self._digest(run)
                run = []
                unit.pieces[0].settled = True
                out.append(unit.pieces[0])
            else:
                run.append(unit)
        return out + self._digest(run)

    def _line(self, unit: Unit) -> str:
        line = self._lines.get(unit.start)
        if line is None:
            line, carried = step_line(unit.pieces, self._seen, self._rule.identifiers)
            self._seen.update(carried)
            self._lines[unit.start] = line
        return line

    def _digest(self, run: Sequence[Unit]) -> list[Piece]:
        if not run:
            return []
        state = self._state
        before = sum(unit.tokens for unit in run)
        stretches = [
            Stretch(first.pieces[0].event, last.pieces[-1].event, state.offload(text))
            for text, first, last in stretch_texts(run)
        ]
        heading = HEADING[state.profile.shaping.locale].format(
            first=stretches[0].first,
            last=stretches[-1].last,
            refs=", ".join(stretch.ref for stretch in stretches),
        )
        text = "\n".join([heading, *(self._line(unit) for unit in run)])
        return [_piece(state, text, stretches, before)]


def fold_digests(state: State, keep_share: float, goal: int) -> None:
    """Fold the oldest digests into one message of refs, until the rest fit ``keep_share``."""
    pieces = state.view.pieces
    room = keep_share * state.allowance.usable
    kept = _digest_tokens(pieces)
    fold: list[int] = []
    for index, piece in enumerate(pieces):
        if piece.kind == "digest" and kept > room and state.total > goal:
            fold.append(index)
            kept -= piece.tokens
    if not fold:
        return
    stretches = [stretch for index in fold for stretch in pieces[index].stretches]
    before = sum(pieces[index].tokens for index in fold)
    lines = [f"{s.first}..{s.last}: {s.ref}" for s in stretches]
    text = "\n".join([FOLDED[state.profile.shaping.locale], *lines])
    folded = _piece(state, text, stretches, before)
    if folded.tokens >= before:
        return
    gone = set(fold)
    rest = [piece for index, piece in enumerate(pieces[: fold[-1] + 1]) if index not in gone]
    at = fold[0]
    state.view.replace(at, fold[-1] + 1, [folded, *rest[at:]])


def _digest_tokens(pieces: Iterable[Piece]) -> int:
    return sum(piece.tokens for piece in pieces if piece.kind == "digest")


def _piece(state: State, text: str, stretches: Sequence[Stretch], before: int) -> Piece:
    message = Message(role="user", content=text)
    tokens = sum(message_parts(message, state.counter).values())
    target = f"{stretches[0].first}..{stretches[-1].last}"
    action = Action(
        kind="trim",
        target=target,
        bucket="history",
        tokens_before=before,
        tokens_after=tokens,
        rule=RULE,
        origin=state.profile.origin(RULE),
        ref=stretches[0].ref,
    )
    piece = Piece(
        seq=state.seq,
        step=0,
        kind="digest",
        message=message.to_openai(),
        parts=(("history.summary", tokens),),
        event=target,
        action=action,
        settled=True,
        stretches=tuple(stretches),
    )
    state.take(action)
    return piece
