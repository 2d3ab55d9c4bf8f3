"""The older turns of a task, cut into passages that can be found again by what they say."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from contextctl.core.search.bm25 import Bm25

# A passage is about as long as a paragraph: long enough to be understood by itself, short enough
# that three of them cost about three hundred tokens.
PASSAGE_CHARS = 400
# Of a very long text this much is searched; all of it stays readable under its ref.
SEARCHED_CHARS = 60_000
_FOUND = 40


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of what ``by`` said in ``turn``. ``cut_before`` and ``cut_after``: there is more."""

    number: int
    turn: int
    by: str
    text: str
    cut_before: bool = False
    cut_after: bool = False

    @property
    def shown(self) -> str:
        """The text, with a sign where it goes on."""
        return f"{'…' if self.cut_before else ''}{self.text}{'…' if self.cut_after else ''}"


class OlderTurns:
    """Everything that was said so far. Adding is cheap: the index is brought up to date by the
    next search, so that a task that never asks never pays for it."""

    def __init__(self) -> None:
        self._passages: list[Passage] = []
        self._known: set[Hashable] = set()
        self._index = Bm25()

    def add(self, key: Hashable, turn: int, by: str, text: str) -> None:
        """Take in what ``by`` said in ``turn``; a ``key`` that is known already changes nothing."""
        if key in self._known:
            return
        self._known.add(key)
        parts = [part for part in _passages(text[:SEARCHED_CHARS]) if part.strip()]
        for at, part in enumerate(parts):
            last = at == len(parts) - 1 and len(text) <= SEARCHED_CHARS
            number = len(self._passages)
            self._passages.append(Passage(number, turn, by, part, at > 0, not last))

    def search(self, question: str) -> Iterator[tuple[Passage, float]]:
        """The passages that fit ``question``, best first, each with the share of the question that
        it has."""
        for passage in self._passages[len(self._index) :]:
            self._index.add(passage.text)
        for hit in self._index.search(question, _FOUND):
            yield self._passages[hit.number], hit.coverage


def _passages(text: str) -> Iterator[str]:
    """``text`` in pieces of at most ``PASSAGE_CHARS``, cut where a line, a sentence or at least a
    word ends."""
    start = 0
    while len(text) - start > PASSAGE_CHARS:
        stop = _seam(text, start, start + PASSAGE_CHARS)
        yield text[start:stop].strip()
        start = stop
    yield text[start:].strip()


def _seam(text: str, start: int, stop: int) -> int:
    """The last good place to cut in the second half of ``text[start:stop]``."""
    middle = (start + stop) // 2
    for mark in ("\n\n", "\n", "。", ". ", "；", "; ", "，", ", ", " "):
        at = text.rfind(mark, middle, stop)
        if at >= 0:
            return at + len(mark)
    return stop
