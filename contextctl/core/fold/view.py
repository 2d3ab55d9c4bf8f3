"""The view: the messages of the window being built, with their owners and running sums.

Every piece is one message. Sums, the digest chain and the place of the first change are kept as
pieces come and go, so that a step costs what it adds and not what the task has accumulated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from contextctl.core.digest.facts import Facts
from contextctl.core.digest.lines import DigestLine
from contextctl.core.summary.material import Material
from contextctl.model.ledger import Action, Item
from contextctl.model.message import JsonObject

Parts = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Steps that left the window together: their whole text is under ``ref``.

    ``text`` is that text while it may still be joined with its neighbours; empty for a long one.
    """

    first: int
    last: int
    ref: str
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Segment:
    """What a digest stands for: its lines, where the whole text is, how far it is folded.

    ``before`` is what the steps took in the window; ``level`` 0 is as made, 3 only refs.
    """

    lines: tuple[DigestLine, ...]
    stretches: tuple[Stretch, ...]
    before: int
    level: int = 0


@dataclass(frozen=True, slots=True)
class Summarised:
    """What a summary stands for: the material it was made from, and where the whole text is.

    ``generation`` counts how often summaries went into summaries; 0 is one that was refused, which
    holds refs only. Steps and event numbers are the first and the last that it covers; ``before``
    is what all of it took in the window.
    """

    material: Material
    stretches: tuple[Stretch, ...]
    generation: int
    steps: tuple[int, int]
    events: tuple[int, int]
    before: int


@dataclass(slots=True)
class Piece:
    """One message of the window.

    ``kind`` is ``system``, ``user``, ``assistant``, ``result``, ``note``, ``digest``, ``summary``,
    ``pins`` or ``retrieved``.
    ``parts`` name the owners of its tokens (``history.tool_calls``). ``raw`` is the original text
    while the message may still leave the window; a stretch that leaves is stored from it. A
    ``label`` is the line above the text that says what a note is. A
    ``settled`` piece is what a batch left behind; a digest has the ``segment`` it stands for, and
    a summary what it ``summarised``.
    """

    seq: int
    step: int
    kind: str
    message: JsonObject
    parts: Parts
    raw: str = ""
    name: str = ""
    call_id: str = ""
    label: str = ""
    facts: Facts | None = None
    action: Action | None = None
    ref: str = ""
    event: str = ""
    settled: bool = False
    segment: Segment | None = None
    summarised: Summarised | None = None
    tokens: int = field(init=False)
    mark: bytes = field(init=False)
    item: Item = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = sum(tokens for _, tokens in self.parts)
        self.mark = hashlib.sha256(message_bytes(self.message)).digest()
        self._own()

    def relabel(self, parts: Parts) -> None:
        """Give the same tokens to other owners (a question that is no longer the newest)."""
        self.parts = parts
        self._own()

    def _own(self) -> None:
        part = self.parts[0][0] if self.parts else "history.text"
        self.item = Item(
            event=self.event,
            role=str(self.message.get("role")),
            bucket=part.partition(".")[0],
            part=part,
            tokens=self.tokens,
            name=self.name,
            step=self.step,
        )


def message_bytes(message: JsonObject) -> bytes:
    """The bytes of a message for digests and prefix comparison."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


class View:
    """The pieces in order. ``parts`` and ``total`` are always the sums over them.

    ``changed_from`` and ``broke_at`` tell where the window stopped being the one sent last.
    """

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.parts: dict[str, int] = {}
        self.total = 0
        self.changed_from = 0
        self.broke_at: str | None = None
        self._chain: list[bytes] = []
        self._sums: list[int] = []

    def copy(self) -> View:
        """The view as it stands now, which later changes do not reach."""
        other = View()
        other.pieces, other.parts, other.total = list(self.pieces), dict(self.parts), self.total
        other.changed_from, other.broke_at = self.changed_from, self.broke_at
        other._chain, other._sums = list(self._chain), list(self._sums)
        return other

    def append(self, piece: Piece) -> None:
        """Put a piece at the end; the prefix stays."""
        self.pieces.append(piece)
        self._book(piece.parts, 1)
        self._link(piece)

    def replace(self, start: int, stop: int, pieces: Iterable[Piece], why: str = "") -> None:
        """Put ``pieces`` in the place of ``pieces[start:stop]``; the prefix breaks at ``start``.

        ``why`` names what broke it in the ledger; by default the first message that changed.
        """
        if start < self.changed_from:
            self.broke_at = why or self.pieces[start].event
            self.changed_from = start
        for piece in self.pieces[start:stop]:
            self._book(piece.parts, -1)
        fresh = list(pieces)
        for piece in fresh:
            self._book(piece.parts, 1)
        self.pieces[start:stop] = fresh
        del self._chain[start:], self._sums[start:]
        for piece in self.pieces[start:]:
            self._link(piece)

    def relabel(self, piece: Piece, parts: Parts) -> None:
        """Move a piece's tokens to other parts; its bytes stay."""
        self._book(piece.parts, -1)
        piece.relabel(parts)
        self._book(piece.parts, 1)

    def held_tokens(self) -> int:
        """Tokens of the leading pieces that stand as they stood at the last ``settled``."""
        kept = min(self.changed_from, len(self._sums))
        return self._sums[kept - 1] if kept else 0

    def settled(self) -> None:
        """The window as it is now was sent: later changes are measured against it."""
        self.changed_from = len(self.pieces)
        self.broke_at = None

    def tokens_from(self, start: int) -> int:
        """Tokens of ``pieces[start:]``."""
        return (self._sums[-1] if self._sums else 0) - (self._sums[start - 1] if start else 0)

    def chain(self) -> bytes:
        """A digest over all pieces in order."""
        return self._chain[-1] if self._chain else b""

    def _book(self, parts: Parts, sign: int) -> None:
        for part, tokens in parts:
            self.parts[part] = self.parts.get(part, 0) + sign * tokens
            self.total += sign * tokens

    def _link(self, piece: Piece) -> None:
        previous = self._chain[-1] if self._chain else b""
        self._chain.append(hashlib.sha256(previous + piece.mark).digest())
        self._sums.append((self._sums[-1] if self._sums else 0) + piece.tokens)
