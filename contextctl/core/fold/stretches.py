"""Stretches: the window cut into units that may leave it whole, and the text they leave behind.

A unit is one assistant message with all its results, or one message of anybody else. A cut between
units never separates a call from its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contextctl.core.fold.view import Piece

# A reader gets at most this much from one ref, so that a ref leads to a bounded stretch.
STRETCH_CHARS = 60_000
# About what a digest takes that says nothing but its ref.
BARE_DIGEST_TOKENS = 30


@dataclass(frozen=True, slots=True)
class Unit:
    """``pieces[start:stop]``, which enter and leave the window together."""

    start: int
    stop: int
    kind: str
    pieces: tuple[Piece, ...]

    @property
    def tokens(self) -> int:
        """What it takes in the window."""
        return sum(piece.tokens for piece in self.pieces)

    @property
    def step(self) -> int:
        """The number of the assistant step it is, or came after."""
        return self.pieces[0].step

    @property
    def is_step(self) -> bool:
        """Whether it is an assistant step; anything else is a message from outside."""
        return self.kind == "assistant"


def units_from(pieces: Sequence[Piece], start: int) -> list[Unit]:
    """The units of ``pieces[start:]`` in order."""
    units: list[Unit] = []
    at = start
    while at < len(pieces):
        stop = at + 1
        if pieces[at].kind == "assistant":
            while stop < len(pieces) and pieces[stop].kind == "result":
                stop += 1
        units.append(Unit(at, stop, pieces[at].kind, tuple(pieces[at:stop])))
        at = stop
    return units


def live_start(pieces: Sequence[Piece]) -> int:
    """The first piece a trim may take: behind the head and behind what earlier trims left.

    The head runs through the first user message; when steps came before it, it is the leading
    system messages and pins.
    """
    last = max((i for i, piece in enumerate(pieces) if piece.settled), default=-1)
    return last + 1 if last >= 0 else head_end(pieces)


def head_end(pieces: Sequence[Piece]) -> int:
    """The first piece behind the head, whatever was trimmed after it."""
    for index, piece in enumerate(pieces):
        if piece.kind in ("result", "digest", "summary"):
            break
        if piece.kind == "user":
            return index + 1
    return next((i for i, p in enumerate(pieces) if p.kind not in ("system", "pins")), len(pieces))


def least_tokens(pieces: Sequence[Piece], newest_question: Piece | None) -> int:
    """The least that these pieces can come down to: what no remedy may take, and one ref.

    That is the system text, the pins, the newest question and the newest unit.
    """
    units = units_from(pieces, 0)
    newest = units[-1].pieces if units else ()
    stay = [
        piece
        for piece in pieces
        if piece.kind in ("system", "pins") or piece is newest_question or piece in newest
    ]
    return sum(piece.tokens for piece in stay) + BARE_DIGEST_TOKENS


def protected_from(units: Sequence[Unit], protect: int) -> int:
    """The index of the first unit that has to stay: the last ``protect`` steps, and the newest."""
    newest = max(len(units) - 1, 0)
    if protect == 0:
        return newest
    steps = [index for index, unit in enumerate(units) if unit.is_step]
    return min(steps[-protect], newest) if len(steps) >= protect else 0


def older_units(pieces: Sequence[Piece], protect: int) -> list[Unit]:
    """The units a batch may touch, oldest first: live, and before the last ``protect`` steps."""
    units = units_from(pieces, live_start(pieces))
    return units[: protected_from(units, protect)]


def stretch_texts(units: Sequence[Unit]) -> list[tuple[str, int, int]]:
    """The whole original text of a run of units, in parts of at most ``STRETCH_CHARS`` characters.

    Returns ``(text, first step, last step)``; a unit too long for one part spans several.
    """
    parts: list[tuple[str, int, int]] = []
    held: list[str] = []
    size, first, last = 0, units[0].step, units[0].step
    for unit in units:
        text = "".join(_original(piece) for piece in unit.pieces)
        if held and size + len(text) > STRETCH_CHARS:
            parts.append(("".join(held), first, last))
            held, size, first = [], 0, unit.step
        while len(text) > STRETCH_CHARS:
            parts.append((text[:STRETCH_CHARS], unit.step, unit.step))
            text = text[STRETCH_CHARS:]
        held.append(text)
        size += len(text)
        last = unit.step
    if size:
        parts.append(("".join(held), first, last))
    return parts


def _original(piece: Piece) -> str:
    role = str(piece.message.get("role"))
    label = f"{role} {piece.name} {piece.call_id}".rstrip()
    return f"--- {piece.event} {label}\n{piece.raw}\n"
