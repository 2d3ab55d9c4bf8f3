"""Documents on disk: Markdown, HTML, plain text and PDF, each as text with an outline.

One function a format turns bytes into lines and headings; which sections follow from those is the
same for all of them. What cannot be read is a fault with its reason, never an empty document.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from contextctl.io.documents.decoding import decoded
from contextctl.io.documents.html import html_outline
from contextctl.io.documents.markdown import markdown_outline
from contextctl.io.documents.outline import Outline, sections_of
from contextctl.io.documents.pdf import pdf_outline
from contextctl.io.documents.plain import plain_outline
from contextctl.model.document import Document, DocumentFault

FORMATS: dict[str, tuple[str, Callable[[str], Outline]]] = {
    ".md": ("text/markdown", markdown_outline),
    ".markdown": ("text/markdown", markdown_outline),
    ".html": ("text/html", html_outline),
    ".htm": ("text/html", html_outline),
    ".txt": ("text/plain", plain_outline),
    ".text": ("text/plain", plain_outline),
    ".rst": ("text/plain", plain_outline),
}
PDF = ".pdf"
ENDINGS = (*FORMATS, PDF)

_MAX_BYTES = 50_000_000
_UNSAFE = re.compile(r"[\s\[\]#<>|\"'`]+")


def read_document(path: Path, name: str) -> Document | DocumentFault:
    """The document in ``path``, known as ``name`` (made safe for citations)."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        known = ", ".join(ENDINGS)
        return DocumentFault(name, f"'{ending or path.name}' is not read; these are: {known}")
    try:
        if path.stat().st_size > _MAX_BYTES:
            return DocumentFault(name, f"larger than {_MAX_BYTES // 1_000_000} MB")
        raw = path.read_bytes()
    except OSError as error:
        return DocumentFault(name, f"cannot be read: {error.strerror or error}")
    if ending == PDF:
        media, outline = "application/pdf", pdf_outline(raw)
    else:
        media, read = FORMATS[ending]
        text = decoded(raw, html=media == "text/html")
        outline = text if isinstance(text, DocumentFault) else read(text)
    if isinstance(outline, DocumentFault):
        return DocumentFault(name, outline.reason)
    return _document(outline, safe_id(name), media, path)


def text_document(name: str, text: str, title: str = "") -> Document | DocumentFault:
    """A document that a task carries with it; its headings are those of Markdown."""
    outline = markdown_outline(text.replace("\r\n", "\n").replace("\r", "\n"))
    if title:
        outline = replace(outline, title=title)
    return _document(outline, safe_id(name), "text/markdown", Path(name))


def documents_in(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every file below ``folder`` that may be a document, with its path from there, in order.

    Hidden files and folders are left out, and links that lead outside.
    """
    root = folder.resolve()
    for here, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            path = Path(here) / name
            if name.startswith(".") or path.suffix.lower() not in ENDINGS:
                continue
            if path.resolve().is_relative_to(root):
                yield path, path.relative_to(root).as_posix()


def safe_id(name: str) -> str:
    """``name`` without what would end a citation: spaces, brackets, quotes and ``#``."""
    return _UNSAFE.sub("_", name.strip()).strip("/") or "document"


def _document(outline: Outline, name: str, media: str, path: Path) -> Document | DocumentFault:
    if not any(line.strip() for line in outline.lines[outline.skipped :]):
        return DocumentFault(name, "holds no text")
    if not outline.lines[-1]:  # what follows the last line end is no line
        outline = replace(outline, lines=outline.lines[:-1])
    title = outline.title or path.stem
    text = "\n".join(outline.lines)
    return Document(name, title, text, sections_of(outline), media, str(path))
