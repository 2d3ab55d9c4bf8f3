"""Recall: what was said in older turns comes back when the user asks about it again.

When a new user message is settled, its words are looked up among everything that was shown before
and no longer stands in the window. The best passages are shown once, each labelled with its turn,
in one message at the end of the window; from then on it is history like any other message. What is
found depends on the record alone, and only on what a window showed: recall brings nothing in that a
rule had left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from contextctl.core.count import message_parts
from contextctl.core.fold.view import Piece
from contextctl.core.search.recall import Passage
from contextctl.core.search.terms import is_pair, query_terms
from contextctl.model.message import JsonObject, Message

if TYPE_CHECKING:
    from contextctl.core.fold.state import State

PART = "retrieved.recalled"
HEADING = {
    "en": "[recalled] From older turns, found by the words of the question above; what was said "
    "later holds:",
    "zh": "[召回] 按上面问题的用词从较早轮次找到的内容；与后来的说法不一致时以后者为准：",
}
LABEL = {"en": "from turn {turn} ({by}): {text}", "zh": "来自第 {turn} 轮（{by}）：{text}"}
# The share of the question's words (rare ones weigh more) that a passage must have, measured where
# most questions about the same talk have more, and most about another talk less. Questions in pairs
# of characters reach lower shares: many of their pairs are seams between words.
ENOUGH, ENOUGH_PAIRS = 0.3, 0.2
_KINDS = ("user", "assistant", "result", "note")


def remember(state: State) -> None:
    """Take in what the window shows for the first time. Nothing is indexed before it is asked."""
    if state.profile.history.recall.enabled:
        for piece in state.view.pieces[state.view.changed_from :]:
            if piece.kind in _KINDS:
                turn = piece.step + (piece.kind == "user")
                by = piece.name if piece.kind in ("result", "note") else piece.kind
                state.older_turns.add((piece.seq, piece.call_id), turn, by, _text(piece.message))


def recall_older(state: State) -> None:
    """Show what older turns say about a new question, as far as there is room without a batch."""
    question, rule = state.question, state.profile.history.recall
    if not rule.enabled or question is None or question.seq == state.recalled_for:
        return
    state.recalled_for = question.seq
    found = _found(state, _text(question.message), question.step + 1, rule.top_k)
    if found and not _has_room(state, _piece(state, found[:1]).tokens):
        state.warn("older turns fit the question and there is no room to recall one")
        return
    while found:
        piece = _piece(state, found)
        if _has_room(state, piece.tokens):
            state.view.append(piece)
            return
        found = found[:-1]


def _has_room(state: State, tokens: int) -> bool:
    """Whether so much more starts no batch; where a batch could make no room, whether it fits."""
    allowed, after = state.allowance, state.total + tokens
    if allowed.must_reduce(state.total, state.fixed):
        return allowed.zone(after, state.fixed) != "overflow"
    return not allowed.must_reduce(after, state.fixed)


def _found(state: State, question: str, turn: int, limit: int) -> list[Passage]:
    """The best passages of turns before ``turn`` that stand nowhere in the window."""
    asked = query_terms(question)
    pairs = sum(map(is_pair, asked)) * 2 > len(asked)
    enough = ENOUGH_PAIRS if pairs else ENOUGH
    window = "\n".join(_text(piece.message) for piece in state.view.pieces)
    best: list[Passage] = []
    for passage, coverage in state.older_turns.search(question):
        fits = coverage >= enough and passage.turn < turn and passage.text not in window
        if fits and all(passage.text != other.text for other in best):
            best.append(passage)
        if len(best) == limit:
            break
    return best


def _piece(state: State, found: Sequence[Passage]) -> Piece:
    """One message of the passages, the oldest first."""
    locale = state.profile.shaping.locale
    lines = [HEADING[locale]]
    for passage in sorted(found, key=lambda one: (one.turn, one.number)):
        label = LABEL[locale].format(turn=passage.turn, by=passage.by, text=passage.shown)
        lines.append(f"- {label}")
    message = Message(role="user", content="\n".join(lines))
    tokens = sum(message_parts(message, state.counter).values())
    return Piece(
        seq=state.at,
        step=state.step,
        kind="retrieved",
        message=message.to_openai(),
        parts=((PART, tokens),),
        raw=message.text,
        event=state.event,
    )


def _text(message: JsonObject) -> str:
    """What a message says: its texts, then its calls."""
    return "\n".join(line for line in _lines(message) if line)


def _lines(message: JsonObject) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        yield content
    for part in _objects(content):
        yield str(part.get("text") or "")
    for call in _objects(message.get("tool_calls")):
        function = call.get("function")
        if isinstance(function, dict):
            yield f"{function.get('name')} {function.get('arguments')}"


def _objects(value: object) -> Iterable[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else ()
