"""PDF: the text of each page; a page is a section, named by the bookmark that begins on it."""

from __future__ import annotations

import logging
from io import BytesIO
from typing import Any

from contextctl.io.documents.outline import Heading, Outline
from contextctl.model.document import DocumentFault


def pdf_outline(raw: bytes) -> Outline | DocumentFault:
    """The pages as lines and headings ``p1``, ``p2`` …, or why they cannot be had."""
    try:
        import pypdf  # a large package, and only this format needs it
        from pypdf.errors import PyPdfError
    except ImportError:
        return DocumentFault("", "reading PDF needs pypdf: pip install 'contextctl[pdf]'")
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # remarks on files that are a bit off
    try:
        reader = pypdf.PdfReader(BytesIO(raw))
        if reader.is_encrypted and not reader.decrypt(""):
            return DocumentFault("", "encrypted with a password")
        pages = [page.extract_text() for page in reader.pages]
        names = _bookmarks(reader)
        title = str((reader.metadata.title if reader.metadata else None) or "")
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        # pypdf meets broken objects with whatever error they lead to.
        return DocumentFault("", f"not a readable PDF ({type(error).__name__}: {error})")
    if not any(text.strip() for text in pages):
        return DocumentFault("", "holds no text: it may be a scan")
    lines: list[str] = []
    headings, ids = [], []
    for number, text in enumerate(pages, start=1):
        name = names.get(number - 1, "")
        headings.append(Heading(len(lines) + 1, 1, f"page {number}{': ' if name else ''}{name}"))
        ids.append(f"p{number}")
        lines += text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").split("\n")
    return Outline(tuple(lines), tuple(headings), " ".join(title.split()), tuple(ids))


def _bookmarks(reader: Any) -> dict[int, str]:
    """The first bookmark of each page, by the page's place."""
    out: dict[int, str] = {}

    def take(entries: list[Any], depth: int) -> None:
        for entry in entries:
            if isinstance(entry, list):
                if depth < 8:
                    take(entry, depth + 1)
                continue
            page = reader.get_destination_page_number(entry)
            if page is not None and page >= 0:
                out.setdefault(page, " ".join(str(entry.title).split())[:80])

    take(reader.outline, 0)
    return out
