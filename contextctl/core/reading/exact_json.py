"""JSON that keeps every digit: numbers travel as the text they were written in.

A 19-digit id, ``1.10`` or ``1e400`` read by the standard parser comes back changed. So JSON is
read with ``parse_int=Number, parse_float=Number`` (``shaping.read_json``), and written with
``dump_exact``, which puts a ``Number`` without quotes.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextctl.model.message import Json

_SURROGATE = re.compile("[\ud800-\udfff]")


class Number(str):
    """A JSON number exactly as written."""

    __slots__ = ()


def dump_exact(value: Json) -> str:
    """Compact strict JSON: CJK as it is, half surrogate pairs as escapes, exact numbers."""
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", _dump(value))


def _dump(value: Json) -> str:
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_text(str(k))}:{_dump(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_dump, value)) + "]"
    return _text(value)


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
