"""A tool's schema from a Python function: its signature, its annotations, its docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from contextctl.errors import ToolError
from contextctl.model.message import Json, JsonObject

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):?\s*$")
_GOOGLE = re.compile(r"^(\w+)(?:\s*\([^)]*\))?\s*:\s+(.+)$")
_SPHINX = re.compile(r"^:(param|parameter|arg)\s+(?:\S+\s+)?(\w+):\s*(.*)$")


def schema_of(function: Callable[..., Any], name: str) -> JsonObject:
    """The JSON Schema of the function's arguments; unknown arguments are refused.

    Descriptions come from ``Annotated[…, Field(description=…)]`` or the docstring. Raises
    ``ToolError`` for a signature that a model cannot call.
    """
    from pydantic import TypeAdapter  # only Python tools pay for it

    parameters = inspect.signature(function).parameters.values()
    for parameter in parameters:
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL}:
            raise ToolError(
                f"tool '{name}': parameter '{parameter.name}' can only be given by position; "
                "a model names its arguments"
            )
    try:
        raw = TypeAdapter(cast("Any", function)).json_schema()
    except Exception as error:  # pydantic has a class for each kind of annotation it cannot read
        raise ToolError(
            f"tool '{name}': cannot make a schema of its signature: {error}; "
            f"give 'tools.{name}.parameters'"
        ) from error
    schema = cast("JsonObject", _without_titles(raw))
    schema.setdefault("type", "object")
    schema.setdefault("properties", {})
    any_name = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    schema.setdefault("additionalProperties", any_name)
    described = parameter_texts(function)
    for key, inner in cast("dict[str, Json]", schema["properties"]).items():
        if isinstance(inner, dict) and "description" not in inner and key in described:
            inner["description"] = described[key]
    return schema


def description_of(function: Callable[..., Any]) -> str:
    """The docstring up to its first section, paragraphs kept."""
    lines: list[str] = []
    for line in (inspect.getdoc(function) or "").splitlines():
        if _SECTION.match(line.strip()) or _SPHINX.match(line.strip()):
            break
        lines.append(line)
    return "\n".join(lines).strip()


def parameter_texts(function: Callable[..., Any]) -> Mapping[str, str]:
    """What a docstring says of each parameter, in Google's or Sphinx's style."""
    texts: dict[str, str] = {}
    inside, last = False, ""
    for raw in (inspect.getdoc(function) or "").splitlines():
        line = raw.strip()
        if sphinx := _SPHINX.match(line):
            last = sphinx[2]
            texts[last] = sphinx[3]
        elif section := _SECTION.match(line):
            inside, last = section[1] in {"Args", "Arguments", "Parameters"}, ""
        elif inside and (google := _GOOGLE.match(line)) and _indent(raw) <= 4:
            last = google[1]
            texts[last] = google[2]
        elif last and line and _indent(raw) > 0:
            texts[last] = f"{texts[last]} {line}".strip()
        else:
            last = ""
    return texts


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _without_titles(node: Any, *, names: bool = False) -> Any:
    """Drop the titles pydantic makes of names: they cost tokens and say nothing new.

    ``names`` is True inside ``properties``, where ``title`` may be an argument.
    """
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_titles(value, names=key in {"properties", "$defs"} and not names)
        for key, value in node.items()
        if names or key != "title" or not isinstance(value, str)
    }
