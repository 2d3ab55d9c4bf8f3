"""Documents read in parts: a map, an outline, bounded sections, a search, and citations (SPEC D5).

A ``Library`` holds the documents that one task was granted, and nothing else: whoever asks it for
another one is told that there is none. Its answers are bounded, and every one that shows text names
the place as a citation, so that what is said of it can be looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest

from contextctl.core.search.bm25 import Bm25
from contextctl.core.search.terms import query_terms
from contextctl.model.document import Citation, Document, Section, cite

_PASSAGE_CHARS = 1_200
_PART_POOL = 20  # passages looked at for each sentence of a long question
_FIRST_RANK = 3  # how much the first ranks count more than later ones
_FEWEST_TERMS = 3
_MOST_PARTS = 60
_ENDS = re.compile(r"(?<=[.!?;])\s+|\n+|(?<=[。！？；])")
_POOL = 60  # passages looked at for one search: enough that some documents stand among them


@dataclass(frozen=True, slots=True)
class Passage:
    """A few lines of a section's own text: what a search finds."""

    document: int
    section: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that fits a question. ``score`` compares within one search only."""

    document: Document
    section: Section
    first: int
    last: int
    score: float

    @property
    def citation(self) -> str:
        """Where it stands."""
        return cite(self.document.id, self.section.id, self.first, self.last)


class Library:
    """The documents of one task, in order. Ids must be unique. Never changed once made."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = tuple(documents)
        self._by_id = {document.id: document for document in self.documents}
        if len(self._by_id) < len(self.documents):
            raise ValueError("two documents of a library have the same id")

    def get(self, document: str) -> Document | None:
        """The document of that id; None when it is not among those that were granted."""
        return self._by_id.get(document)

    def search(self, question: str, limit: int = 8, per_document: int = 3) -> tuple[Found, ...]:
        """The passages that fit best, at most ``per_document`` of each document (of one that is
        alone, any number)."""
        if len(self.documents) == 1:
            per_document = limit
        found: list[Found] = []
        taken: dict[int, int] = {}
        sections: set[tuple[int, int]] = set()
        for number, score in self._ranked(question, max(_POOL, limit * per_document * 2)):
            passage = self._passages[number]
            here = (passage.document, passage.section)
            if taken.get(passage.document, 0) >= per_document:
                continue
            if here in sections and len(self.documents) > 1:
                continue  # one place of a section is enough to read it
            sections.add(here)
            taken[passage.document] = taken.get(passage.document, 0) + 1
            document = self.documents[passage.document]
            section = document.sections[passage.section]
            found.append(Found(document, section, passage.first, passage.last, score))
            if len(found) == limit:
                break
        return tuple(found)

    def resolve(
        self, document: str, section: str, first: int = 0, last: int = 0
    ) -> Citation | None:
        """The place that is named, its lines those of the section unless given; None when there is
        no such place here."""
        held = self.get(document)
        part = None if held is None else held.section(section)
        if held is None or part is None:
            return None
        begin, end = first or part.first, last or first or part.last
        if not part.first <= begin <= end <= part.last:
            return None
        return Citation(document, section, begin, end, held.heading_of(part))

    def _ranked(self, question: str, pool: int) -> list[tuple[int, float]]:
        """Passages by number, best first. A question of several sentences asks several things: each
        is searched for by itself, and a passage counts by its rank for each (reciprocal ranks)."""
        parts = _sentences(question)
        if len(parts) < 2:
            return [(hit.number, hit.score) for hit in self._index.search(question, pool)]
        scores: dict[int, float] = {}
        for part in parts:
            for rank, hit in enumerate(self._index.search(part, _PART_POOL)):
                scores[hit.number] = scores.get(hit.number, 0.0) + 1 / (_FIRST_RANK + rank)
        ranked = ((round(score, 9), -number) for number, score in scores.items())
        return [(-number, score) for score, number in nlargest(pool, ranked)]

    @cached_property
    def _lines(self) -> tuple[list[str], ...]:
        return tuple(lines_of(document) for document in self.documents)

    @cached_property
    def _passages(self) -> tuple[Passage, ...]:
        return tuple(
            Passage(number, place, first, last)
            for number, document in enumerate(self.documents)
            for place, section in enumerate(document.sections)
            for first, last in _passages(self._lines[number], section)
            if _says_more(self._lines[number][first - 1 : last], section, first)
        )

    @cached_property
    def _index(self) -> Bm25:
        index = Bm25()
        headings: dict[int, list[str]] = {}
        for passage in self._passages:
            document = self.documents[passage.document]
            if passage.document not in headings:
                headings[passage.document] = _headings(document)
            text = "\n".join(self._lines[passage.document][passage.first - 1 : passage.last])
            heading = headings[passage.document][passage.section]
            index.add({"title": document.title, "heading": heading, "text": text})
        return index


def lines_of(document: Document) -> list[str]:
    """The document's lines; a citation's ``L1`` is the first of them."""
    return document.text.split("\n")


def section_text(document: Document, section: Section) -> str:
    """All lines of a section, its subsections included."""
    return "\n".join(lines_of(document)[section.first - 1 : section.last])


def _sentences(question: str) -> list[str]:
    """The sentences of a question that have enough words to be searched for."""
    parts = (part.strip() for part in _ENDS.split(question))
    return [part for part in parts if len(query_terms(part)) >= _FEWEST_TERMS][:_MOST_PARTS]


def _says_more(lines: Sequence[str], section: Section, first: int) -> bool:
    """Whether a passage holds more than the section's heading, which its subsections have too."""
    if section.last == section.own_last or first > section.first:
        return True
    text = " ".join(line.strip(" #=-*_\t") for line in lines)
    return len(text.strip()) > len(section.title) + 10


def _headings(document: Document) -> list[str]:
    """For each section its titles from the top down."""
    titles: dict[str, str] = {}
    out = []
    for section in document.sections:
        above = titles.get(section.id.rpartition(".")[0], "")
        title = f"{above} › {section.title}" if above and section.title else above or section.title
        titles[section.id] = title
        out.append(title)
    return out


def _passages(lines: Sequence[str], section: Section) -> Iterator[tuple[int, int]]:
    """The section's own lines in stretches of about 1,200 characters, ended at empty lines where
    one is near."""
    begin, chars, blank = section.first, 0, 0
    for line in range(section.first, section.own_last + 1):
        chars += len(lines[line - 1]) + 1
        if chars > _PASSAGE_CHARS and line > begin:
            end = blank if blank - begin >= (line - begin) // 2 else line - 1
            yield begin, end
            begin = end + 1
            chars = sum(len(lines[at - 1]) + 1 for at in range(begin, line + 1))
        if not lines[line - 1].strip():
            blank = line
    if begin <= section.own_last and any(map(str.strip, lines[begin - 1 : section.own_last])):
        yield begin, section.own_last
