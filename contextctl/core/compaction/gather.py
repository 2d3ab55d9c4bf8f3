"""What a compaction gathers from the messages that leave, before they are gone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from contextctl.core.compaction.zone import Zone
from contextctl.core.digest.calls import one_line
from contextctl.core.digest.facts import NO_FACTS
from contextctl.core.digest.lines import (
    ANSWER_CHARS,
    DigestLine,
    DigestRule,
    digest_lines,
    step_facts,
)
from contextctl.core.digest.small_talk import is_small_talk
from contextctl.core.fold.joined import join_stretches, store_stretch
from contextctl.core.fold.state import State
from contextctl.core.fold.stretches import Unit, stretch_texts, units_from
from contextctl.core.fold.view import Piece, Stretch, message_bytes
from contextctl.core.summary.material import Material, joined
from contextctl.core.summary.negations import asks, refusals, ruled_out
from contextctl.core.summary.values import used_often

MAX_USER_FACTS, MAX_ASKED_CHARS = 20, 400
_PASSAGE = re.compile(r"^\[([^\]\n]{1,60})\] ?([^\n]{0,120})$", re.MULTILINE)
NO_ANSWER = {
    "en": "call {id} ({tool}) has no result: it was interrupted or not run",
    "zh": "调用 {id}（{tool}）没有结果：已中断或未执行",
}


def gather(state: State, zone: Zone) -> Material:
    """The material of everything in ``zone``, oldest first."""
    rule = state.profile.history.digest
    facts_rule = DigestRule(rule.step_tokens, rule.share)
    stands = standing(state, zone)
    pinned = {text.strip(): key for key, text in state.pins.items()}
    parts: list[Material] = []
    run: list[Unit] = []

    def end_run() -> None:
        if run:
            steps = [step_facts(unit.pieces) for unit in run]
            lines = digest_lines(steps, stands, facts_rule)
            parts.append(Material(lines=lines, uses=used_often(steps)))
            run.clear()

    for unit in zone.units:
        piece = unit.pieces[0]
        if unit.is_step or piece.kind == "note":
            run.append(unit)
            continue
        end_run()
        parts.append(_told(piece, pinned.get(piece.raw.strip(), "")))
    end_run()
    locale = state.profile.shaping.locale
    parts.append(
        Material(
            refused=_untold(
                state, zone, _sentences((*zone.staying, *zone.leaving), ("user",), refusals)
            ),
            ruled_out=_sentences(zone.leaving, ("assistant",), ruled_out),
            unanswered=(
                *(NO_ANSWER[locale].format(id=i, tool=t) for i, t in state.compacting.repaired),
                *_questions(zone.units),
            ),
        )
    )
    return joined(parts)


def standing(state: State, zone: Zone) -> Callable[[str], bool]:
    """Whether a value stands in what stays of the window."""
    gone = {id(piece) for piece in zone.leaving}
    stays = b"\n".join(
        message_bytes(piece.message) for piece in state.view.pieces if id(piece) not in gone
    ).decode("utf-8", "surrogatepass")
    return lambda value: value in stays


def stretches(state: State, zone: Zone) -> tuple[Stretch, ...]:
    """Where the whole text of what leaves can be read, stored now where it was not yet.

    What is stored now stands in as few parts as hold it, whatever stood between, with the messages
    of users that stay: what was done is read beside what was asked.
    """
    gone = {id(piece) for piece in zone.leaving}
    out: list[Stretch] = []
    fresh: list[Unit] = []
    for unit in units_from(state.view.pieces[zone.start : zone.stop], 0):
        piece = unit.pieces[0]
        known = piece.segment or piece.summarised
        if known is None and (id(piece) in gone or not piece.settled):
            fresh.append(unit)
        elif known is not None and id(piece) in gone:
            out.extend(known.stretches)
    if fresh:
        out.extend(store_stretch(state, *part) for part in stretch_texts(fresh))
    ordered = sorted(dict.fromkeys(out), key=lambda one: (one.first, one.last))
    return join_stretches(state, ordered)


def _told(piece: Piece, pin: str) -> Material:
    """What one message says that is no step: a digest, a summary, passages, a user's words; these
    are named, not told, where they are the text of ``pin``."""
    if piece.summarised is not None:
        return piece.summarised.material
    if piece.segment is not None:
        return Material(lines=piece.segment.lines)
    if piece.kind == "retrieved":
        return Material(sources=tuple(_PASSAGE.findall(piece.raw)))
    if pin:
        return Material(asked=((piece.step, f"(pinned: {pin})"),))
    if is_small_talk(piece.raw):
        return Material()
    facts = (piece.facts or NO_FACTS).items
    best = sorted(facts, key=lambda fact: -fact.score)[:MAX_USER_FACTS]
    said = one_line(piece.raw.strip(), MAX_ASKED_CHARS)
    return Material(lines=(DigestLine(piece.step, facts=tuple(best)),), asked=((piece.step, said),))


def _sentences(
    pieces: Sequence[Piece], kinds: Sequence[str], find: Callable[[str], tuple[str, ...]]
) -> tuple[tuple[int, str], ...]:
    return tuple(
        (piece.step, sentence)
        for piece in pieces
        if piece.kind in kinds
        for sentence in find(str(piece.message.get("content") or ""))
    )


def _untold(
    state: State, zone: Zone, sentences: tuple[tuple[int, str], ...]
) -> tuple[tuple[int, str], ...]:
    """Those that no summary which stays has told already."""
    gone = {id(piece) for piece in zone.leaving}
    told = "\n".join(
        piece.raw
        for piece in state.view.pieces
        if piece.kind == "summary" and id(piece) not in gone
    )
    return tuple((step, sentence) for step, sentence in sentences if sentence not in told)


def _questions(units: Sequence[Unit]) -> list[str]:
    """Users' questions after which nobody said anything before the next message of a user."""
    out = []
    for unit, after in pairwise(units):
        text = unit.pieces[0].raw
        if unit.kind == "user" and after.kind == "user" and asks(text):
            out.append(f"{unit.step}: {one_line(text.strip(), ANSWER_CHARS)}")
    return out
