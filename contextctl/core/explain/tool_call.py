"""What the tools that contextctl brings along have in common: terse schemas, lenient arguments."""

from __future__ import annotations

from collections.abc import Mapping

from contextctl.core.reading.lines import bad_arguments
from contextctl.model.message import Json, JsonObject, ToolSpec

__all__ = ["Arguments", "bad_arguments", "tool_spec"]


def tool_spec(
    name: str,
    description: str,
    needed: JsonObject,
    optional: JsonObject | None = None,
    *,
    source: str,
) -> ToolSpec:
    """A tool with the arguments it needs and those it may have; each is a JSON Schema."""
    parameters: JsonObject = {
        "type": "object",
        "properties": needed | (optional or {}),
        "required": list(needed),
    }
    return ToolSpec(name, description, parameters, source=source)


class Arguments:
    """A call's arguments, read leniently: models write ``"3"`` for 3.

    ``problem`` says what was wrong first, or is empty.
    """

    def __init__(self, values: Mapping[str, Json]) -> None:
        self._values = values
        self.problem = ""

    def text(self, key: str, default: str | None = None) -> str:
        """A text. Without a ``default`` it must be there and hold something."""
        value = self._values.get(key)
        if value is None and default is not None:
            return default
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or (default is None and not value.strip()):
            self.problem = self.problem or f"'{key}' must be text, got {value!r:.60}"
            return ""
        return value

    def number(self, key: str, default: int) -> int:
        """A whole number of 0 or more."""
        value = self._values.get(key)
        if value is None or value == "":
            return default
        try:
            return max(0, int(value))  # type: ignore[arg-type]  # what is no number is refused below
        except (TypeError, ValueError, OverflowError):
            self.problem = self.problem or f"'{key}' must be a whole number, got {value!r:.60}"
            return default
