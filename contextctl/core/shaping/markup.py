"""HTML as the text a person would read: headings, lists, table rows and links stay, scripts go."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_DOCUMENT = re.compile(
    r"\A\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*(?:<!doctype\s+html|<html[\s>])",
    re.IGNORECASE | re.DOTALL,
)
_XML = re.compile(r"\A\s*(?:<\?xml\s|<([A-Za-z_][\w.:-]*)(?:\s[^<>]*)?>.*</\1>\s*\Z)", re.DOTALL)
_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object"})
# fmt: off
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5",
    "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "tbody",
    "tfoot", "thead", "title", "tr", "ul",
})
# fmt: on
_SPACES = re.compile(r"[ \t\r\f\v\xa0]+")
_LONE_BULLET = re.compile(r"^-\n+", re.MULTILINE)
_FIRST_CELL = re.compile(r"^\| ", re.MULTILINE)
_GAPS = re.compile(r"\n{3,}")


def is_html(text: str) -> bool:
    """Whether ``text`` is a whole HTML document (a fragment inside other text is left alone)."""
    return _DOCUMENT.match(text) is not None


def is_xml(text: str) -> bool:
    """Whether ``text`` is an XML document."""
    return text.lstrip()[:1] == "<" and _XML.match(text) is not None


def html_text(text: str) -> str:
    """The readable text of an HTML document."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.text()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._out: list[str] = []
        self._skipping = 0
        self._exact = 0
        self._links: list[tuple[str, int]] = []

    def text(self) -> str:
        lines = (line.strip(" ") if "\x00" not in line else line for line in self._lines())
        text = _GAPS.sub("\n\n", "\n".join(lines))
        text = _FIRST_CELL.sub("", _LONE_BULLET.sub("- ", text))
        return text.replace("\x00", "").strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SKIPPED:
            self._skipping += 1
            return
        if self._skipping:
            return
        if tag in _BLOCKS:
            self._out.append("\n")
        if tag == "pre":
            self._exact += 1
        values = dict(attrs)
        if tag in {"h1", "h2", "h3", "h4", "h5", "h6"}:
            self._out.append("\n" + "#" * int(tag[1]) + " ")
        elif tag == "li":
            self._out.append("- ")
        elif tag in {"td", "th"}:
            self._out.append(" | ")
        elif tag == "img" and values.get("alt"):
            self._out.append(f"[image: {values['alt']}]")
        elif tag == "a":
            self._links.append((values.get("href") or "", len(self._out)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag in _SKIPPED:
            self._skipping -= 1

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipping = max(0, self._skipping - 1)
        if self._skipping:
            return
        if tag == "a" and self._links:
            self._close_link(*self._links.pop())
        if tag == "pre":
            self._exact = max(0, self._exact - 1)
        if tag in _BLOCKS:
            self._out.append("\n")

    def handle_data(self, data: str) -> None:
        if self._skipping:
            return
        if self._exact:
            self._out.append("".join(f"\x00{line}\n" for line in data.split("\n"))[:-1])
        else:
            self._out.append(_SPACES.sub(" ", data.replace("\n", " ")))

    def _close_link(self, href: str, since: int) -> None:
        label = "".join(self._out[since:]).replace("\x00", "").strip()
        if href and not href.startswith(("#", "javascript:")) and label and href != label:
            self._out.append(f" ({href})")

    def _lines(self) -> list[str]:
        return "".join(self._out).split("\n")
