"""Text that can be written as UTF-8. JSON escapes and odd file names bring halves of characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextctl.model.message import Json


def whole_characters(text: str) -> str:
    """``text`` with split surrogate pairs joined and lone halves replaced by U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def whole_json(value: Json) -> Json:
    """The same for every text, key or value, of a JSON value."""
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, list):
        return [whole_json(item) for item in value]
    if isinstance(value, dict):
        return {whole_characters(key): whole_json(item) for key, item in value.items()}
    return value
