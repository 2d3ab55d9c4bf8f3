"""Bytes that were written down as text never enter the window; a short description does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# The shortest run taken for encoded bytes. A key or a signature that a model may need is shorter;
# an SSH key (372) or an image is longer.
RUN_CHARS = 256
_DATA_URI_CHARS = 64
_SHARE = 0.1
# Within an address or an assignment a run may be what a later call needs, up to this size.
_IN_ADDRESS = frozenset("=.?&%")
_LONG_PARAMETER = 1_024
_SAMPLE_CHARS = 4_096

_MAGIC = (
    ("\x89PNG", "PNG image"), ("GIF8", "GIF image"), ("\xff\xd8\xff", "JPEG image"),
    ("%PDF-", "PDF document"), ("PK\x03\x04", "ZIP archive"), ("\x1f\x8b", "gzip data"),
    ("\x7fELF", "ELF program"), ("SQLite format 3\x00", "SQLite database"),
)  # fmt: skip
_UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f\ud800-\udfff\ufffd]")
_DATA_URI = re.compile(
    r"data:([\w.+-]{1,60}/[\w.+-]{1,80})?(?:;[\w=.+-]{1,60}){0,3};base64,([A-Za-z0-9+/=_-]+)"
)
_RUN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{256,}+={0,2}")
# Base64 in lines, also where the line ends are escaped inside a JSON string.
_LINE_END = r"(?:\r?\n|\\n|\\r\\n)"
_WRAPPED = re.compile(
    rf"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{48,77}}(?:{_LINE_END}[A-Za-z0-9+/]{{48,77}}){{2,}}"
    rf"(?:{_LINE_END}[A-Za-z0-9+/]{{1,76}}={{0,2}})?"
)


def binary_kind(text: str) -> str | None:
    """What ``text`` is when it is bytes read as text (``PNG image`` …), else None."""
    for magic, name in _MAGIC:
        if text.startswith((magic, magic.replace("\x89", "\ufffd"))):
            return name
    sample = text[:_SAMPLE_CHARS]
    if "\x00" not in sample and not any(c in sample for c in ("\ufffd", "\x01", "\x02", "\x10")):
        return None
    odd = len(_UNPRINTABLE.findall(sample))
    return "binary data" if odd > _SHARE * len(sample) else None


def without_encoded(text: str, describe: Callable[[str, int], str]) -> str:
    """``text`` with every data URI and base64 run replaced by ``describe(media, characters)``."""
    if ";base64," in text:
        text = _DATA_URI.sub(lambda found: _uri(found, describe), text)
    if longest_word(text) >= RUN_CHARS:
        text = _RUN.sub(lambda found: _described(found, describe), text)
    if _WRAPPED.search(text):
        text = _WRAPPED.sub(lambda found: _described(found, describe), text)
    return text


def longest_word(text: str) -> int:
    """Characters of the longest stretch without white space."""
    return max(map(len, text.split()), default=0)


def looks_encoded(run: str) -> bool:
    """Whether a run of base64 letters is encoded bytes, not a path or a very long name."""
    if len(run) < RUN_CHARS:
        return False
    body = run.rstrip("=")
    letters = set(body)
    if len(letters) < 24:  # a repeated character, a rule of dashes, hexadecimal in one case
        return len(letters) >= 12 and set("0123456789abcdefABCDEF") >= letters
    has_all = any(c.isdigit() for c in letters) and any(c.islower() for c in letters)
    if not has_all or not any(c.isupper() for c in letters):
        return False
    # In base64 every character comes once in 64; paths, words and snake_case have far more.
    separators = body.count("/") + body.count("_") + body.count("-") + body.count("+")
    capitals = sum(map(str.isupper, body[:1_024])) / min(len(body), 1_024)
    return separators <= len(body) * 0.08 and 0.15 <= capitals <= 0.75


def _described(found: re.Match[str], describe: Callable[[str, int], str]) -> str:
    """The description in place of a run; the letter of an escape before it (``\\n``) stays."""
    run = found[0]
    before = found.string[found.start() - 1 : found.start()]
    if before and before in _IN_ADDRESS and len(run) < _LONG_PARAMETER:
        return run
    escaped = before == "\\"
    kept = run[0] if escaped else ""
    body = re.sub(r"\\r\\n|\\n|\s", "", run[len(kept) :])
    return kept + describe("base64", len(body)) if looks_encoded(body) else run


def _uri(found: re.Match[str], describe: Callable[[str, int], str]) -> str:
    if len(found[2]) < _DATA_URI_CHARS:
        return found[0]
    return describe(found[1] or "base64", len(found[2]))
