"""Trim: the oldest steps leave the window; a digest of them and a ref stay in their place.

Digests are frozen: made once from the raw steps and appended, so that the prompt prefix before the
newest one always holds. User messages stay, verbatim and in order, as messages of their own. One
batch leaves one ref to the whole text of everything it took (more when that is very long).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from contextctl.core.count import message_parts
from contextctl.core.digest.lines import (
    DigestLine,
    DigestRule,
    digest_lines,
    segment_text,
    step_facts,
)
from contextctl.core.fold.joined import store_stretch
from contextctl.core.fold.state import State
from contextctl.core.fold.stretches import (
    Unit,
    live_start,
    protected_from,
    stretch_texts,
    units_from,
)
from contextctl.core.fold.view import Piece, Segment, Stretch, message_bytes
from contextctl.model.ledger import Action
from contextctl.model.message import Message

RULE = "/history"
# About what the call of a step takes in a digest, to see beforehand how many steps must leave.
CALL_TOKENS = 30
HEADING = {
    "en": "[trimmed] Steps {first}-{last}; whole text: {refs}",
    "zh": "[已裁剪] 步骤 {first}-{last}；原文：{refs}",
}
MORE = {"en": "[trimmed] Steps {first}-{last}", "zh": "[已裁剪] 步骤 {first}-{last}"}


def trim_older(state: State, goal: int) -> None:
    """Trim what is neither protected nor among the turns the zone lets stay, until ``goal``."""
    _trim(state, lambda free, units: _by_goal(state, free, units, goal))


def trim_to_recent(state: State, recent_tokens: int) -> None:
    """Trim everything but the newest steps that fit in ``recent_tokens``."""
    _trim(state, lambda free, units: _by_recent(free, units, recent_tokens))


def trim_protected(state: State, goal: int) -> None:
    """Trim protected steps as well, oldest first; the last one stays."""
    _trim(state, lambda free, units: _by_goal(state, free, units, goal), protect=1)


def trim_last_step(state: State, goal: int) -> None:
    """Trim the last step too where a message follows it; the newest unit stays."""
    _trim(state, lambda free, units: _by_goal(state, free, units, goal), protect=0)


def _trim(
    state: State,
    choose: Callable[[Sequence[Unit], Sequence[Unit]], int],
    protect: int | None = None,
) -> None:
    profile, view = state.profile, state.view
    if not profile.remedies.trim or profile.history.strategy == "keep_all":
        return
    units = units_from(view.pieces, live_start(view.pieces))
    stays = profile.compaction.protect_steps if protect is None else protect
    free = units[: protected_from(units, stays)]
    cut = choose(free, units) if free else 0
    if cut:
        leaving = free[:cut]
        fresh = list(_left_behind(state, leaving))
        view.replace(leaving[0].start, leaving[-1].stop, fresh)


def _by_goal(state: State, free: Sequence[Unit], units: Sequence[Unit], goal: int) -> int:
    """How many free units leave: until the goal is met and only the zone's turns are left."""
    rule = state.profile.history.digest
    turns = sum(unit.is_step for unit in units)
    keep = state.profile.history.keep_turns.at(state.zone_before)
    after = state.total
    for index, unit in enumerate(free):
        if after <= goal and turns <= keep:
            return index
        if unit.kind == "user":
            continue
        after -= unit.tokens
        if unit.is_step:
            turns -= 1
            digest = int(CALL_TOKENS + rule.step_tokens + rule.share * unit.tokens)
            after += min(digest, unit.tokens)
    return len(free)


def _by_recent(free: Sequence[Unit], units: Sequence[Unit], recent_tokens: int) -> int:
    """How many free units leave so that what follows them is at most ``recent_tokens``."""
    room = recent_tokens - sum(unit.tokens for unit in units[len(free) :])
    for index in range(len(free) - 1, -1, -1):
        room -= free[index].tokens
        if room < 0:
            return index + 1
    return 0


def _left_behind(state: State, leaving: Sequence[Unit]) -> Iterator[Piece]:
    """What stays of ``leaving``: user messages as they are, a digest for each run between them."""
    stretches = tuple(store_stretch(state, *part) for part in stretch_texts(leaving))
    stands = _standing(state, leaving)
    run: list[Unit] = []
    for unit in (*leaving, None):
        if unit is not None and unit.kind != "user":
            run.append(unit)
            continue
        if run:
            digest = _digest(state, run, stretches, stands)
            if digest.tokens < sum(one.tokens for one in run):
                state.take(digest.action)
                stretches = ()
                yield digest
            else:  # short words between two questions: they say more than a digest of them
                yield from _kept(run)
            run = []
        if unit is not None:
            yield from _kept([unit])


def _kept(units: Sequence[Unit]) -> Iterator[Piece]:
    for unit in units:
        for piece in unit.pieces:
            piece.settled = True
            yield piece


def _standing(state: State, leaving: Sequence[Unit]) -> Callable[[str], bool]:
    """Whether a value stands in what stays of the window anyway."""
    gone = {id(piece) for unit in leaving if unit.kind != "user" for piece in unit.pieces}
    stays = b"\n".join(
        message_bytes(piece.message) for piece in state.view.pieces if id(piece) not in gone
    ).decode("utf-8", "surrogatepass")
    return lambda value: value in stays


def _digest(
    state: State,
    run: Sequence[Unit],
    stretches: tuple[Stretch, ...],
    stands: Callable[[str], bool],
) -> Piece:
    rule = state.profile.history.digest
    lines: tuple[DigestLine, ...] = ()
    if state.profile.history.strategy == "summary_recent":
        steps = [step_facts(unit.pieces) for unit in run]
        lines = digest_lines(steps, stands, DigestRule(rule.step_tokens, rule.share))
    segment = Segment(lines, stretches, sum(unit.tokens for unit in run))
    return digest_piece(state, segment, run[0].step, run[-1].step, run[0].pieces[0].event)


def stretch_list(stretches: Sequence[Stretch], joiner: str) -> str:
    """The refs of stretches; with their steps when there are several."""
    if len(stretches) == 1:
        return stretches[0].ref
    return joiner.join(f"{one.first}-{one.last} {one.ref}" for one in stretches)


def digest_piece(state: State, segment: Segment, first: int, last: int, event: str) -> Piece:
    """A digest as a message of the window, with the action that says what it replaces."""
    refs = stretch_list(segment.stretches, ", ")
    form = (HEADING if refs else MORE)[state.profile.shaping.locale]
    text = segment_text(segment.lines, form.format(first=first, last=last, refs=refs))
    message = Message(role="user", content=text)
    tokens = sum(message_parts(message, state.counter).values())
    action = Action(
        kind="trim",
        target=event,
        bucket="history",
        tokens_before=segment.before,
        tokens_after=tokens,
        rule=RULE,
        origin=state.profile.origin(RULE),
        ref=segment.stretches[0].ref if segment.stretches else "",
    )
    return Piece(
        seq=state.at,
        step=first,
        kind="digest",
        message=message.to_openai(),
        parts=(("history.summary", tokens),),
        event=event,
        action=action,
        settled=True,
        segment=segment,
    )
