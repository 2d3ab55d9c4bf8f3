"""Searching one stored text for a model: a regular expression in linear time, or the plain words.

RE2 matches in time linear in the text, whatever the pattern, so no pattern a model writes can
hang a run. What RE2 cannot express (back references, look-around), or cannot parse, is searched
for as plain text, and the answer says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from contextctl.core.reading.lines import READ_BYTES, bad_arguments, json_size, position

if TYPE_CHECKING:
    from contextctl.model.message import Json, JsonObject

SEARCH_LIMIT = 20
"""Matches of one answer."""

_COUNT_UP_TO = 10_000
_LONG_LINE = 240
_AROUND = 80
_SURROGATE = re.compile("[\ud800-\udfff]")

_Spans = Callable[[str], Iterator[tuple[int, int]]]


class _Match(NamedTuple):
    line: int
    line_start: int
    start: int
    end: int


def search_text(
    text: str,
    ref: str,
    pattern: str,
    limit: int = SEARCH_LIMIT,
    max_bytes: int = READ_BYTES,
    *,
    start: int = 0,
    offset: int = 0,
) -> JsonObject:
    """The matches of ``pattern`` from line ``start`` on, each with a line number to read from.

    A match in a long line shows the text around it, and the ``offset`` where that begins.
    ``total`` counts the matches of the whole text, up to 10,000 (then ``total_at_least``).
    ``next`` is where to search on, or null.
    """
    if not pattern:
        return bad_arguments("'pattern' must not be empty")
    if start < 0 or offset < 0:
        start = offset = 0
    spans, literal = _spans(pattern)
    begin = position(text, start, offset)
    matches: list[Json] = []
    following: JsonObject | None = None
    room, shown_to, total = max_bytes, begin, 0
    for match in _located(text, spans):
        if total == _COUNT_UP_TO and following is not None:
            break
        total += total < _COUNT_UP_TO
        if match.start < shown_to or following is not None:
            continue
        entry, entry_end = _entry(text, match)
        room -= json_size(entry)
        if matches and (len(matches) >= limit or room < 0):
            following = {"start": match.line, "offset": match.start - match.line_start}
            continue
        matches.append(entry)
        shown_to = entry_end
    out: JsonObject = {"ref": ref, "pattern": pattern}
    if literal:
        out["searched_as"] = "plain text"
    out["matches"] = matches
    out["returned"] = len(matches)
    out["total" if total < _COUNT_UP_TO else "total_at_least"] = total
    out["truncated"] = following is not None
    out["next"] = following
    return out


def _spans(pattern: str) -> tuple[_Spans, bool]:
    """How to find ``pattern``, and whether it is taken as plain text."""
    try:
        import re2  # type: ignore[import-untyped]  # only searches need it; no types
    except ImportError:
        return _literal(pattern), True
    options = re2.Options()
    options.log_errors = False
    clean = _SURROGATE.sub("\ufffd", pattern)
    try:
        compiled = re2.compile(f"(?m:{clean})", options)
    except re2.error:
        return _literal(clean), True
    return lambda text: (match.span() for match in compiled.finditer(text)), False


def _literal(pattern: str) -> _Spans:
    return lambda text: (match.span() for match in re.finditer(re.escape(pattern), text))


def _located(text: str, spans: _Spans) -> Iterator[_Match]:
    """Non-empty matches in order, each with its line."""
    line, line_start = 0, 0
    for start, end in spans(_SURROGATE.sub("\ufffd", text)):
        if start == end:
            continue
        line += text.count("\n", line_start, start)
        line_start = max(line_start, text.rfind("\n", line_start, start) + 1)
        yield _Match(line, line_start, start, end)


def _entry(text: str, match: _Match) -> tuple[JsonObject, int]:
    """One match as shown, and the position up to which further matches are already visible."""
    newline = text.find("\n", match.start)
    line_end = len(text) if newline < 0 else newline
    if line_end - match.line_start <= _LONG_LINE:
        return {"line": match.line, "text": text[match.line_start : line_end]}, line_end
    begin = max(match.line_start, match.start - _AROUND)
    end = min(line_end, max(begin + _LONG_LINE, match.start + _AROUND))
    offset = begin - match.line_start
    return {"line": match.line, "offset": offset, "text": text[begin:end]}, end
