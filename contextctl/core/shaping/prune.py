"""A JSON value made small enough, still JSON: long texts cut, long lists ended, marks left.

Everything left out leaves a text that starts with ``…``. Small values stay whole and large ones
share the room that is left, so that the outline of a nested object survives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.core.reading.exact_json import Number
from contextctl.core.shaping.cut import grapheme_ceil, grapheme_floor

if TYPE_CHECKING:
    from contextctl.model.message import Json

_MARK_CHARS = 24
_SMALL = 48
_LEAST = 20
# A list of large items shows as many of them as get this much room each.
_ROW_CHARS = 600


class Pruner:
    """Prunes parts of one value; sizes (in characters of compact JSON) are measured once."""

    def __init__(self, value: Json) -> None:
        self._value = value
        self._sizes: dict[int, int] = {}
        self.size = self._measure(value)

    def within(self, room: int) -> Json:
        """The value in about ``room`` characters of compact JSON."""
        return self._pruned(self._value, room)

    def _size(self, value: Json) -> int:
        known = self._sizes.get(id(value)) if isinstance(value, (dict, list)) else None
        return self._measure(value) if known is None else known

    def _measure(self, value: Json) -> int:
        if isinstance(value, dict):
            size = 2 + sum(len(key) + 4 + self._measure(item) for key, item in value.items())
        elif isinstance(value, list):
            size = 2 + sum(1 + self._measure(item) for item in value)
        else:
            return len(value) + 2 if isinstance(value, str) else 5
        self._sizes[id(value)] = size
        return size

    def _pruned(self, value: Json, room: int) -> Json:
        if self._size(value) <= room:
            return value
        if isinstance(value, dict):
            return self._fewer_fields(value, room)
        if isinstance(value, list):
            return self._fewer_items(value, room)
        if isinstance(value, str) and not isinstance(value, Number):
            return _shorter(value, room)
        return value

    def _fewer_items(self, value: list[Json], room: int) -> Json:
        if room < _SMALL:
            return f"…[{len(value)} items]"
        room -= _MARK_CHARS
        kept: list[Json] = []
        for item in value:
            size = self._size(item) + 1
            if size > room:
                break
            kept.append(item)
            room -= size
        if not kept:
            several = value[: max(1, room // _ROW_CHARS)]
            level = _water_level(sorted(map(self._size, several)), room - len(several))
            kept = [self._pruned(item, level) for item in several]
        if len(kept) < len(value):
            kept.append(f"…[{len(value) - len(kept)} more items]")
        return kept

    def _fewer_fields(self, value: dict[str, Json], room: int) -> Json:
        if room < _SMALL:
            return f"…[{len(value)} fields]"
        names: list[str] = []
        room -= _MARK_CHARS
        for key in value:
            room -= len(key) + 4
            if room < _LEAST * (len(names) + 1) and names:
                room += len(key) + 4
                break
            names.append(key)
        level = _water_level(sorted(self._size(value[key]) for key in names), room)
        out = {key: self._pruned(value[key], level) for key in names}
        if len(names) < len(value):
            out["…"] = f"…[{len(value) - len(names)} more fields]"
        return out


def _water_level(sizes: list[int], room: int) -> int:
    """The size above which values are cut, so that all of them fit into ``room``."""
    for done, size in enumerate(sizes):
        share = room // (len(sizes) - done)
        if size > share:
            return max(share, _LEAST)
        room -= size
    return sizes[-1] if sizes else 0


def _shorter(text: str, room: int) -> str:
    """Head and tail of a text around a mark with the number of characters left out."""
    keep = room - _MARK_CHARS
    if keep < 16:
        return text[: grapheme_floor(text, max(0, room - 4))] + "…"
    start = grapheme_floor(text, keep * 4 // 5)
    end = grapheme_ceil(text, len(text) - keep // 5)
    if end - start <= _MARK_CHARS:
        return text
    return f"{text[:start]}…[{end - start} characters]…{text[end:]}"


def json_size(value: Json) -> int:
    """About the characters of ``value`` as compact JSON."""
    return Pruner(value).size
