"""JSON read without changing a digit, and made smaller without reading it at all.

Numbers stay the text they were written in. Text nested deeper than ``MAX_DEPTH`` is not read: it
is treated as plain text, wherever on the stack this happens to run.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import accumulate

from contextctl.core.reading.exact_json import Number
from contextctl.model.message import Json

MAX_DEPTH = 100

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SPACED = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")|[ \t\r\n]+', re.DOTALL)
_LOOSE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[ \t\r\n]+|-?Infinity|NaN', re.DOTALL)
_UNICODE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|.)",
    re.DOTALL,
)
_HALF = re.compile("[\ud800-\udfff]")
_NOT_BRACKET = bytes(set(range(256)) - set(b"[]{}"))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


@dataclass(frozen=True, slots=True)
class Parsed:
    """A JSON value and the keys that came twice in one object (the last value is kept)."""

    value: Json
    duplicates: tuple[str, ...] = ()


def parse_json(text: str) -> Parsed | None:
    """Read JSON with exact numbers, ``NaN`` and infinities as strings; None if it is not JSON."""
    if text[:1] not in _OPENERS and text.lstrip(" \t\r\n")[:1] not in _OPENERS:
        return None
    if _too_deep(text):
        return None
    twice: dict[str, None] = {}

    def pairs(items: list[tuple[str, Json]]) -> dict[str, Json]:
        out = dict(items)
        if len(out) != len(items):
            seen: set[str] = set()
            for key, _ in items:
                if key in seen:
                    twice[key] = None
                seen.add(key)
        return out

    try:
        value: Json = json.loads(
            text, parse_int=Number, parse_float=Number, parse_constant=str, object_pairs_hook=pairs
        )
    except (ValueError, RecursionError):
        return None
    return Parsed(value, tuple(twice))


def inner_json(text: str) -> str:
    """What a JSON string holds that is itself a JSON object or list: servers encode twice."""
    if text[:1] != '"' or text[-1:] != '"' or text[1:2] not in {"{", "[", "\\", " "}:
        return text
    try:
        inner = json.loads(text)
    except ValueError:
        return text
    held = inner.strip() if isinstance(inner, str) else ""
    return held if held[:1] in {"{", "["} and parse_json(held) is not None else text


def parse_lines(text: str, *, loose: bool = False) -> Parsed | None:
    """Read NDJSON: at least two objects or arrays, one a line; None for anything else.

    ``loose`` takes a line that is no JSON as a row of text, as long as most lines are records.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2:
        return None
    rows: list[Json] = []
    twice: dict[str, None] = {}
    for line in lines:
        parsed = parse_json(line) if line.lstrip()[:1] in {"{", "["} else None
        if parsed is None and not loose:
            return None
        rows.append(line.strip() if parsed is None else parsed.value)
        twice |= dict.fromkeys(parsed.duplicates if parsed else ())
    records = sum(isinstance(row, (dict, list)) for row in rows)
    return Parsed(rows, tuple(twice)) if records > len(rows) // 2 else None


def compact_json(text: str) -> str:
    """JSON without the white space around its tokens and without ``\\u`` escapes of characters.

    Nothing is parsed: digits, key order and repeated keys stay as written. ``NaN`` and the
    infinities, which are not JSON, become strings. ``text`` must be what ``parse_json`` accepts.
    """
    if "\\u" in text or "NaN" in text or "Infinity" in text:
        return _LOOSE.sub(_tight, text)
    return _SPACED.sub(r"\1", text)


def escaped_halves(text: str) -> str:
    """JSON that can be written as UTF-8: halves of surrogate pairs joined, or escaped if alone."""
    if text.isascii() or _HALF.search(text) is None:
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", joined)


def gains_from_compaction(text: str) -> bool:
    """Whether ``compact_json`` is worth trying: there are line breaks, escapes or odd numbers."""
    return "\n" in text or "\\u" in text or "NaN" in text or "Infinity" in text


def _tight(found: re.Match[str]) -> str:
    token = found[0]
    if token[0] == '"':
        return _UNICODE.sub(_character, token) if "\\u" in token else token
    return "" if token[0] in " \t\r\n" else f'"{token}"'


def _character(found: re.Match[str]) -> str:
    high, low, single = found.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00))
    if not single:
        return found[0]
    code = int(single, 16)
    # Controls, quotes and backslashes need their escape; so does half a surrogate pair.
    if code < 0xA0 or 0xD800 <= code <= 0xDFFF or code in {0xFEFF, 0xFFFE, 0xFFFF}:
        return chr(code) if 0x20 <= code < 0x7F and code not in {0x22, 0x5C} else found[0]
    return chr(code)


def _too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    bare = _STRING.sub("", text).encode("ascii", "ignore").translate(None, _NOT_BRACKET)
    return max(accumulate(map(_STEP.__getitem__, bare)), default=0) > MAX_DEPTH


_OPENERS = frozenset('{["-0123456789tfnNI')
