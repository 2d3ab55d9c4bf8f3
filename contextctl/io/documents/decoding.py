"""Bytes of a document as text: UTF-8 first, then what the file says of itself."""

from __future__ import annotations

import codecs
import re

from contextctl.model.document import DocumentFault

_DECLARED = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE
)
_MARKS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def decoded(raw: bytes, *, html: bool = False) -> str | DocumentFault:
    """The text with ``\\n`` as the only line end, or why it cannot be had."""
    name = next((codec for mark, codec in _MARKS if raw.startswith(mark)), "utf-8-sig")
    text = _try(raw, name)
    if text is None and html:
        declared = _DECLARED.search(raw[:4096])
        text = _try(raw, declared[1].decode("ascii")) if declared else None
    if text is None:
        return DocumentFault("", "not UTF-8: save it as UTF-8")
    if "\x00" in text:
        return DocumentFault("", "not text: it holds NUL bytes")
    # A form feed is no line end: a line number must be that of the file.
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ")


def _try(raw: bytes, codec: str) -> str | None:
    try:
        return raw.decode(codec)
    except (UnicodeDecodeError, LookupError):
        return None
