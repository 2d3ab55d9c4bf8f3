"""Markdown: headings of both kinds, none of them inside code or the frontmatter."""

from __future__ import annotations

import re

from contextctl.io.documents.outline import Heading, Outline

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_NO_TEXT = re.compile(r" {0,3}(?:[-*+>|]|\d+[.)]|#{1,6}[ \t])|(?: {4}|\t)")
_MARKS = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|\{#[^}]*\}|<a [^>]*></a>|`+|\*{1,3}")
_TITLE = re.compile(r"title:[ \t]*(['\"]?)(.+?)\1[ \t]*")


def markdown_outline(text: str) -> Outline:
    """Lines and headings. The title is the frontmatter's, else the first heading of level 1."""
    lines = tuple(text.split("\n"))
    start, title = _frontmatter(lines)
    headings: list[Heading] = []
    fence = ""
    for number, line in enumerate(lines[start:], start=start + 1):
        marks = _FENCE.fullmatch(line)
        if marks is not None:
            if not fence:
                fence = marks[1]
            elif marks[1].startswith(fence) and not marks[2].strip():
                fence = ""
            continue
        if fence:
            continue
        atx = _ATX.fullmatch(line)
        if atx is not None:
            headings.append(Heading(number, len(atx[1]), _plain(atx[2] or "")))
        elif _UNDERLINE.fullmatch(line) and _is_text(lines, number - 2, start):
            level = 1 if line.lstrip().startswith("=") else 2
            headings.append(Heading(number - 1, level, _plain(lines[number - 2])))
    first = next((h.title for h in headings if h.level == 1), "")
    only = headings[0].title if headings and not first else first
    return Outline(lines, tuple(headings), title or only, skipped=start)


def _frontmatter(lines: tuple[str, ...]) -> tuple[int, str]:
    """How many lines the frontmatter takes, and the title in it."""
    if lines[0].rstrip() != "---":
        return 0, ""
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
    titles = (_TITLE.fullmatch(line) for line in lines[1:end])
    return end + 1 if end else 0, next((found[2] for found in titles if found), "")


def _is_text(lines: tuple[str, ...], above: int, start: int) -> bool:
    """Whether the line above an underline is one line of plain text: else it is a rule or a row."""
    if above < start or not lines[above].strip() or _NO_TEXT.match(lines[above]):
        return False
    if above == start or not lines[above - 1].strip():
        return True
    return _ATX.fullmatch(lines[above - 1]) is not None


def _plain(title: str) -> str:
    return " ".join(_MARKS.sub(lambda found: found[1] or "", title).split())
