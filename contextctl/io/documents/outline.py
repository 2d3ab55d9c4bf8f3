"""From lines and headings to sections: numbered, nested, each with its range of lines."""

from __future__ import annotations

from dataclasses import dataclass

from contextctl.model.document import Section

_CHUNK_LINES = 60
_CHUNK_CHARS = 2_400
_TITLE_CHARS = 60


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading at ``line`` (from 1). ``level`` is that of the format (h2 is 2)."""

    line: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Outline:
    """What a format reader found. ``numbered`` gives headings their own ids (``p3``); the first
    ``skipped`` lines say something about the document and are no part of it."""

    lines: tuple[str, ...]
    headings: tuple[Heading, ...] = ()
    title: str = ""
    numbered: tuple[str, ...] = ()
    skipped: int = 0


def sections_of(outline: Outline) -> tuple[Section, ...]:
    """The sections of an outline; a text without headings falls into even parts."""
    lines, headings = outline.lines, outline.headings
    if not headings:
        return _chunks(lines, outline.skipped + 1, len(lines))
    out: list[Section] = []
    first, before = outline.skipped + 1, headings[0].line - 1
    if any(line.strip() for line in lines[first - 1 : before]):
        out.append(Section("0", outline.title or "beginning", 1, first, before, before))
    ids = outline.numbered or _numbers(headings)
    for place, heading in enumerate(headings):
        following = headings[place + 1 :]
        next_one = following[0].line - 1 if following else len(lines)
        last = next((h.line - 1 for h in following if h.level <= heading.level), len(lines))
        level = ids[place].count(".") + 1
        out.append(Section(ids[place], heading.title, level, heading.line, last, next_one))
    return tuple(out)


def _numbers(headings: tuple[Heading, ...]) -> tuple[str, ...]:
    """``1``, ``1.1``, ``2`` …: by nesting, whatever levels the headings have."""
    open_levels: list[int] = []
    counts: list[int] = [0]
    ids = []
    for heading in headings:
        while open_levels and open_levels[-1] >= heading.level:
            open_levels.pop()
        del counts[len(open_levels) + 1 :]
        counts[len(open_levels)] += 1
        ids.append(".".join(map(str, counts[: len(open_levels) + 1])))
        open_levels.append(heading.level)
        counts.append(0)
    return tuple(ids)


def _chunks(lines: tuple[str, ...], first: int, last: int) -> tuple[Section, ...]:
    """Even parts that end at empty lines where there are some, each named by its first words."""
    out: list[Section] = []
    begin = first
    while begin <= last:
        end = _chunk_end(lines, begin, last)
        words = next((line.strip() for line in lines[begin - 1 : end] if line.strip()), "")
        title = words if len(words) <= _TITLE_CHARS else words[:_TITLE_CHARS].rstrip() + "…"
        out.append(Section(str(len(out) + 1), title, 1, begin, end, end))
        begin = end + 1
    return tuple(out)


def _chunk_end(lines: tuple[str, ...], begin: int, last: int) -> int:
    chars, blank = 0, 0
    for line in range(begin, last + 1):
        chars += len(lines[line - 1]) + 1
        if line > begin and (chars > _CHUNK_CHARS or line - begin >= _CHUNK_LINES):
            return blank if blank - begin >= (line - begin) // 2 else line - 1
        if not lines[line - 1].strip():
            blank = line
    return last
