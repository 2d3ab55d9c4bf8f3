"""Plain text as a reader sees it: no terminal codes, no control characters, valid Unicode."""

from __future__ import annotations

import re

# Anything that needs a closer look: C0 and C1 controls but tab and newline, DEL, half surrogate
# pairs, non-characters, and a byte order mark.
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")

# ECMA-48: OSC, DCS, PM, APC and SOS strings up to their terminator; CSI sequences; other escapes.
_ANSI = re.compile(
    "(?:\x1b[\\]P^_X]|[\x9d\x90\x9e\x9f\x98])[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\\\|\x9c)?"
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"
    "|\x1b[ -/]*[0-~]?"
)
_OVERWRITTEN = re.compile("[^\r\n]*\r(?=[^\r\n])")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")


def is_clean(text: str) -> bool:
    """Whether ``clean_text`` would return ``text`` unchanged."""
    return _ODD.search(text) is None


def clean_text(text: str) -> str:
    """``text`` as a terminal would show it at the end: what was overwritten is gone.

    Line ends become ``\\n``; half surrogate pairs are joined, or replaced by U+FFFD.
    """
    if is_clean(text):
        return text
    text = whole_characters(text)
    if "\x1b" in text or any(c in text for c in "\x90\x98\x9b\x9d\x9e\x9f"):
        text = _ANSI.sub("", text)
    if "\r" in text:
        text = re.sub("\r+\n", "\n", text)
        text = _OVERWRITTEN.sub("", text).replace("\r", "")
    if "\x08" in text:
        text = _backspaced(text)
    return _CONTROL.sub("", text)


def _backspaced(text: str) -> str:
    out: list[str] = []
    for character in text:
        if character != "\x08":
            out.append(character)
        elif out and out[-1] != "\n":
            out.pop()
    return "".join(out)


def whole_characters(text: str) -> str:
    """``text`` that can be written as UTF-8: surrogate pairs joined, halves replaced by U+FFFD."""
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in set(text)):
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
