"""Plain text: headings where the text makes them plain, otherwise none."""

from __future__ import annotations

import re

from contextctl.io.documents.outline import Heading, Outline

_UNDERLINE = re.compile(r"([=\-~^\"'#*+])\1{2,}")
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3})*)[.)]?[ \t]+\S.{0,78}")
_CHINESE = re.compile(r"第[一二三四五六七八九十百零〇0-9]{1,5}([编章节条])(?:[ \t　、：:].{0,60})?")
_RANKS = {"编": 1, "章": 2, "节": 3, "条": 4}
_FEWEST = 2


def plain_outline(text: str) -> Outline:
    """Lines, and headings that are underlined, numbered between empty lines, or 第一章.

    Fewer than two are chance: then there are none, and the text falls into even parts.
    """
    lines = tuple(text.split("\n"))
    headings = _underlined(lines) or _numbered(lines) or _chinese(lines)
    if len(headings) < _FEWEST:
        headings = ()
    first = next((line.strip() for line in lines if line.strip()), "")
    return Outline(lines, headings, headings[0].title if headings else first[:80])


def _underlined(lines: tuple[str, ...]) -> tuple[Heading, ...]:
    """reStructuredText: the kinds of underline rank in the order in which they appear."""
    found: list[tuple[int, str, str]] = []
    for at in range(1, len(lines)):
        line, title = lines[at].rstrip(), lines[at - 1].strip()
        marks = _UNDERLINE.fullmatch(line)
        if marks is None or not title or len(line) < len(title) or _UNDERLINE.fullmatch(title):
            continue
        above = lines[at - 2].rstrip() if at > 1 else ""
        if not above or _UNDERLINE.fullmatch(above):
            found.append((at, marks[1], title))
    ranks = {mark: rank for rank, mark in enumerate(dict.fromkeys(mark for _, mark, _ in found), 1)}
    return tuple(Heading(line, ranks[mark], title) for line, mark, title in found)


def _numbered(lines: tuple[str, ...]) -> tuple[Heading, ...]:
    out = []
    for at, line in enumerate(lines):
        found = _NUMBERED.fullmatch(line.rstrip())
        if found is None or (at and lines[at - 1].strip()):
            continue
        if at + 1 < len(lines) and lines[at + 1].strip():
            continue  # an item of a list, or the first line of a paragraph
        out.append(Heading(at + 1, found[1].count(".") + 1, line.strip()))
    return tuple(out)


def _chinese(lines: tuple[str, ...]) -> tuple[Heading, ...]:
    out = []
    for at, line in enumerate(lines):
        found = _CHINESE.fullmatch(line.strip())
        if found is not None:
            out.append(Heading(at + 1, _RANKS[found[1]], line.strip()))
    return tuple(out)
