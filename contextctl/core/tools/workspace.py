"""The five tools with which a model stores text and reads back what left its window.

Their schemas stand in the window at every step, so they are as short as they can be and still be
used rightly; what a call answers explains the rest (``next``, ``truncated``, ``hint``).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from contextctl.core.reading.fields import fetch_fields
from contextctl.core.reading.lines import (
    READ_BYTES,
    READ_LINES,
    PastCall,
    bad_arguments,
    not_found,
    read_call,
    read_lines,
)
from contextctl.core.reading.search import search_text
from contextctl.model.message import Json, JsonObject, ToolSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_TEXT: JsonObject = {"type": "string"}
_NUMBER: JsonObject = {"type": "integer"}


def _tool(
    name: str, description: str, needed: JsonObject, optional: JsonObject | None = None
) -> ToolSpec:
    parameters: JsonObject = {
        "type": "object",
        "properties": needed | (optional or {}),
        "required": list(needed),
    }
    return ToolSpec(name, description, parameters, source="contextctl")


WORKSPACE_TOOLS: Mapping[str, ToolSpec] = MappingProxyType(
    {
        tool.name: tool
        for tool in (
            _tool(
                "read_workspace",
                "Read the stored text of a ref, by lines.",
                {"ref": _TEXT},
                {"start": _NUMBER, "offset": _NUMBER, "limit": _NUMBER},
            ),
            _tool(
                "search_workspace",
                "Regex search in a ref.",
                {"ref": _TEXT, "pattern": _TEXT},
                {"start": _NUMBER},
            ),
            _tool(
                "fetch",
                "JSON fields of a ref: id,items[].sku",
                {"ref": _TEXT, "fields": _TEXT},
                {"start": _NUMBER},
            ),
            _tool(
                "write_workspace",
                "Store text, get a ref.",
                {"name": _TEXT, "content": _TEXT},
            ),
            _tool(
                "view_tool_call",
                "Raw result of an earlier call.",
                {"call_id": _TEXT},
                {"start": _NUMBER},
            ),
        )
    }
)
"""The tools by name, in the order in which they are offered."""

READER_TOOLS = frozenset(WORKSPACE_TOOLS) - {"write_workspace"}
"""Tools whose answers are bounded reads: never shaped again, never replaced by a ref."""


def answer_read(
    tool: str,
    arguments: Mapping[str, Json],
    text_of: Callable[[str], str | None],
    call_of: Callable[[str], PastCall | None],
    max_bytes: int = READ_BYTES,
) -> JsonObject:
    """Answer a call of one of ``READER_TOOLS``; a wrong argument or ref is an answer, not an error.

    ``text_of`` gives the text of a ref or name, ``call_of`` an earlier call by its id; None when
    there is none.
    """
    asked = _Arguments(arguments)
    start, offset = asked.number("start", 0), asked.number("offset", 0)
    limit = asked.number("limit", READ_LINES if tool == "read_workspace" else 20)
    target = asked.text("call_id" if tool == "view_tool_call" else "ref")
    pattern = asked.text("pattern") if tool == "search_workspace" else ""
    fields = asked.texts("fields") if tool == "fetch" else []
    if asked.problem:
        return bad_arguments(asked.problem)
    if tool == "view_tool_call":
        call = call_of(target)
        if call is None:
            return not_found(target) | {"hint": "no call with this id in this task"}
        return read_call(call, target, start, max_bytes, offset=offset)
    text = text_of(target)
    if text is None:
        return not_found(target)
    if tool == "search_workspace":
        return search_text(text, target, pattern, limit, max_bytes, start=start, offset=offset)
    if tool == "fetch":
        return fetch_fields(text, target, fields, max_bytes, start=start)
    return read_lines(text, target, start, limit, max_bytes, offset=offset)


class _Arguments:
    """A call's arguments, read leniently: models write ``"80"`` for 80 and one field for a list."""

    def __init__(self, values: Mapping[str, Json]) -> None:
        self._values = values
        self.problem = ""

    def number(self, key: str, default: int) -> int:
        value = self._values.get(key)
        if value is None:
            return default
        try:
            return int(value)  # type: ignore[arg-type]  # what is not a number is refused below
        except (TypeError, ValueError, OverflowError):
            self.problem = self.problem or f"{key!r} must be a whole number, got {value!r:.60}"
            return default

    def text(self, key: str) -> str:
        value = self._values.get(key)
        if not isinstance(value, str):
            self.problem = self.problem or f"{key!r} must be text, got {value!r:.60}"
            return ""
        return value

    def texts(self, key: str) -> list[str]:
        value = self._values.get(key)
        listed = value.split(",") if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            self.problem = self.problem or f"{key!r} must be a list of paths, got {value!r:.60}"
            return []
        return [str(item).strip() for item in listed]
