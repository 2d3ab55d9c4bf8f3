"""HTML: the text a person reads, line by line, and its headings; scripts and navigation go."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from contextctl.io.documents.outline import Heading, Outline

_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "nav"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
# fmt: off
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "li", "main", "ol", "p",
    "pre", "section", "table", "tbody", "tfoot", "thead", "tr", "ul", *_HEADINGS,
})
# fmt: on
# Titles of boxes inside a section: what follows the box is not below them.
_ASIDES = frozenset(
    {"note", "tip", "warning", "caution", "important", "注意", "提示", "警告", "小心", "重要"}
)
_SPACES = re.compile(r"\s+")


def html_outline(text: str) -> Outline:
    """Lines of readable text and the headings among them; the title is the page's own."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.outline()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = []
        self._headings: list[Heading] = []
        self._line = ""
        self._title = ""
        self._skipping: list[str] = []
        self._exact = 0
        self._in_title = False
        self._level = 0
        self._cells = 0

    def outline(self) -> Outline:
        self._end_line()
        while self._lines and not self._lines[-1]:
            self._lines.pop()
        first = next((h.title for h in self._headings if h.level == 1), "")
        title = " ".join(self._title.split()) or first
        return Outline(tuple(self._lines), tuple(self._headings), title)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skipping:
            if tag == self._skipping[-1]:
                self._skipping.append(tag)
            return
        if tag in _SKIPPED:
            self._skipping.append(tag)
        elif tag == "title":
            self._in_title = not self._title
        elif tag in _HEADINGS:
            self._break()
            self._level = _HEADINGS[tag]
        elif tag in _BLOCKS:
            self._end_line()
            self._exact += tag == "pre"
            self._line = "- " if tag == "li" else self._line
            self._cells = 0
        elif tag in {"td", "th"}:
            self._line += " | " if self._cells else ""
            self._cells += 1
        elif tag == "img":
            alt = dict(attrs).get("alt")
            self._line += f"[image: {alt}]" if alt else ""

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _SKIPPED:  # an empty element hides nothing
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._skipping:
            if tag == self._skipping[-1]:
                self._skipping.pop()
        elif tag == "title":
            self._in_title = False
        elif tag in _HEADINGS:
            title = " ".join(self._line.split())
            if title and self._level and title.casefold() not in _ASIDES:
                self._headings.append(Heading(len(self._lines) + 1, self._level, title))
            self._level = 0
            self._end_line()
        elif tag in _BLOCKS:
            self._end_line()
            self._exact = max(0, self._exact - (tag == "pre"))
            if tag in {"p", "pre", "table", "ul", "ol", "dl", "blockquote", "section"}:
                self._break()

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title += data
        elif self._skipping:
            return
        elif self._exact:
            *whole, rest = data.split("\n")
            for piece in whole:
                self._lines.append((self._line + piece).rstrip())
                self._line = ""
            self._line += rest
        else:
            piece = _SPACES.sub(" ", data)
            at_start = not self._line or self._line.endswith((" ", "- "))
            self._line += piece.lstrip() if at_start else piece

    def _end_line(self) -> None:
        """Finish the line under way; a bullet that has no text yet waits for it."""
        line = self._line.rstrip() if self._exact else self._line.strip()
        if line == "-":
            return
        if line:
            self._lines.append(line)
        self._line = ""

    def _break(self) -> None:
        self._end_line()
        if self._lines and self._lines[-1]:
            self._lines.append("")
