"""Documents for reading in parts: text by lines, sections with their line ranges, citations."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document. ``first`` and ``last`` are its lines, from 1, both included.

    ``id`` is unique in its document: ``2.1`` by headings, ``p3`` for a page, ``0`` for what stands
    before the first heading. Subsections lie within the range; ``own_last`` is the last line before
    the first of them. ``level`` is 1 at the top.
    """

    id: str
    title: str
    level: int
    first: int
    last: int
    own_last: int


@dataclass(frozen=True, slots=True)
class Document:
    """A document as text. Lines end at ``\\n``; there is at least one section.

    For Markdown and plain text the lines are the file's own; for HTML and PDF those of the text
    that was taken from it. ``id`` is what it is asked and cited by: no spaces, no brackets, no
    ``#``.
    """

    id: str
    title: str
    text: str = field(repr=False)
    sections: tuple[Section, ...]
    media: str = "text/plain"
    source: str = ""

    def section(self, section_id: str) -> Section | None:
        """The section of that id; None when there is none."""
        return next((one for one in self.sections if one.id == section_id), None)

    def heading_of(self, section: Section) -> str:
        """The titles from the top down to ``section``: ``Fees › Late fees``."""
        parts = section.id.split(".")
        ids = [".".join(parts[: depth + 1]) for depth in range(len(parts))]
        titles = [one.title for one in self.sections if one.id in ids and one.title]
        return " › ".join(titles)


@dataclass(frozen=True, slots=True)
class DocumentFault:
    """A document that was granted or found and cannot be read, and why."""

    source: str
    reason: str

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Citation:
    """A place in a document: ``kb/fees.md#2.1:L12-18``."""

    document: str
    section: str
    first: int
    last: int
    title: str = ""

    def __str__(self) -> str:
        return cite(self.document, self.section, self.first, self.last)


def cite(document: str, section: str, first: int, last: int) -> str:
    """How a place is written."""
    return f"{document}#{section}:L{first}-{last}"
