"""What a later step will look for: the argument values of its calls, and the text to find them in.

How values are found inside longer strings: runs of letters, digits, ``_``, ``.`` and ``/`` of at
least eight characters that hold a digit or a slash. With it the three reference sets hold 583, 889
and 844 values that came from an earlier message (published: 584, 865, 839).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contextctl.model.message import Json, JsonObject

VALUE_CHARS = (4, 120)
INNER_CHARS = (8, 120)
NUMBER_FROM = 100

_INNER = re.compile(r"\b[\w./]{4,120}\b")


def needed_values(message: JsonObject) -> tuple[str, ...]:
    """The values a turn's calls use, each once a call, whether or not they came from earlier."""
    out: list[str] = []
    for call in called_functions(message):
        try:
            arguments = json.loads(str(call.get("arguments") or "{}"))
        except ValueError:
            continue
        values: dict[str, None] = {}
        for scalar in _scalars(arguments):
            values.update(dict.fromkeys(_values(scalar)))
        out.extend(values)
    return tuple(out)


def message_text(message: JsonObject) -> str:
    """The searchable text of a message: content, and its calls' names and raw arguments."""
    pieces = [content_text(message)]
    for call in called_functions(message):
        pieces += [str(call.get("name")), str(call.get("arguments"))]
    return "\n".join(pieces)


def content_text(message: JsonObject) -> str:
    """The text of a message's content; parts that hold no text are shown as JSON."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(
        str(part["text"]) if isinstance(part, dict) and "text" in part else json_text(part)
        for part in content
    )


def calls_of(message: JsonObject) -> list[JsonObject]:
    """The tool calls of a message, as they stand in it."""
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def called_functions(message: JsonObject) -> list[JsonObject]:
    """The ``{"name", "arguments"}`` of each tool call of a message."""
    inner = (call.get("function") for call in calls_of(message))
    return [function for function in inner if isinstance(function, dict)]


def _scalars(value: Json) -> Iterator[str | int | float]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    elif value is not None and not isinstance(value, bool):
        yield value


def _values(scalar: str | float) -> Iterator[str]:
    if not isinstance(scalar, str):
        if abs(scalar) >= NUMBER_FROM:
            yield str(scalar)
        return
    low, high = VALUE_CHARS
    if low <= len(scalar) <= high and "\n" not in scalar:
        yield scalar
        return
    for found in _INNER.findall(scalar):
        inner_low, inner_high = INNER_CHARS
        telling = "/" in found or any(char.isdigit() for char in found)
        if telling and inner_low <= len(found) <= inner_high:
            yield found


def json_text(value: object) -> str:
    """A value as JSON in the form that is counted and compared."""
    return json.dumps(value, ensure_ascii=False)
