"""A result read as JSON: one value, one value a line, or a Python literal."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from contextctl.core.reading.exact_json import Number, dump_exact
from contextctl.core.shaping.items import Items
from contextctl.core.shaping.read_json import inner_json, parse_json, parse_lines
from contextctl.model.message import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Records:
    """A parsed result. ``kind``: ``json``, ``ndjson``, ``python``; ``text``: as it came."""

    kind: str
    root: Json
    text: str
    duplicates: tuple[str, ...] = ()
    items: Items | None = None

    def dumped(self, value: Json, note: JsonObject) -> str:
        """``value`` in the form it came in, with what there is to say about it."""
        if self.kind == "ndjson" and isinstance(value, list):
            lines = [dump_exact(row) for row in value]
            return "\n".join([*lines, dump_exact(note)] if note else lines)
        if not note:
            return dump_exact(value)
        if not isinstance(value, dict):
            key = "items" if isinstance(value, list) else "value"
            return dump_exact({key: value, **note})
        clash = any(key in value and str(value[key]) != str(said) for key, said in note.items())
        return dump_exact({**value, "_page": note} if clash else {**value, **note})


def records_in(text: str, *, loose: bool = False) -> Records | None:
    """JSON, NDJSON or a Python literal with text keys alone; None for anything else.

    ``loose``, for a tool whose rule asks for records: JSON inside a JSON string is read too, and
    NDJSON with lines that are none, which become rows of text.
    """
    text = text.strip().removeprefix("\ufeff")
    text = inner_json(text) if loose else text
    if text[:1] not in {"{", "[", "("}:
        return None
    parsed, kind = parse_json(text), "json"
    if parsed is None and "\n" in text:
        parsed, kind = parse_lines(text, loose=loose), "ndjson"
    if parsed is not None:
        return Records(kind, parsed.value, text, parsed.duplicates)
    literal = _literal(text)
    return None if literal is None else Records("python", literal, text)


def _literal(text: str) -> Json:
    """A Python literal (a printed dict or list) as JSON; None when it is not quite that."""
    if "'" not in text and "None" not in text and "True" not in text and "False" not in text:
        return None
    try:
        return _as_json(ast.literal_eval(text))
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def _as_json(value: object) -> Json:
    """Exactly the same value in JSON's terms; raises ``TypeError`` where there is none."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        return Number(repr(value))
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _as_json(item) for key, item in value.items()}
    raise TypeError
