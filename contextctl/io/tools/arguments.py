"""Whether arguments fit a tool's schema, said so that a model can mend its call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from contextctl.errors import ToolError
from contextctl.model.arguments import ArgumentsError, quoted, read_arguments
from contextctl.model.message import Json, JsonObject

_MOST_FAULTS = 5
_KINDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}


def checked_arguments(raw: str, schema: Mapping[str, Json]) -> JsonObject:
    """The arguments in ``raw``, which fit ``schema``. Raises ``ArgumentsError`` that says what not.

    ``null`` stands for no arguments where the tool takes none.
    """
    if raw.strip() == "null" and not schema.get("properties"):
        return {}
    arguments = read_arguments(raw)
    try:
        json.dumps(arguments, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise ArgumentsError(
            f"the arguments hold half of a character (a lone surrogate); received: {quoted(raw)}"
        ) from None
    faults = list(_faults(arguments, schema))
    if faults:
        shown = "; ".join(faults[:_MOST_FAULTS])
        more = f"; and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
        raise ArgumentsError(f"the arguments do not fit: {shown}{more}; received: {quoted(raw)}")
    return arguments


def check_schema(name: str, schema: Mapping[str, Json]) -> None:
    """Raise ``ToolError`` when the parameters of tool ``name`` are no usable JSON Schema."""
    from jsonschema import SchemaError  # only tools that are called need it
    from jsonschema.validators import Draft202012Validator

    if schema.get("type") != "object":
        raise ToolError(f"tool '{name}': 'parameters' must have \"type\": \"object\"")
    try:
        Draft202012Validator.check_schema(dict(schema))
    except SchemaError as error:
        where = "/".join(str(part) for part in error.absolute_path)
        raise ToolError(
            f"tool '{name}': 'parameters' is no JSON Schema: {where}: {error.message}"
        ) from None


def _faults(arguments: JsonObject, schema: Mapping[str, Json]) -> Iterator[str]:
    from jsonschema.validators import Draft202012Validator

    validator = Draft202012Validator(dict(schema))
    errors = sorted(validator.iter_errors(arguments), key=_order)
    yield from dict.fromkeys(text for error in errors for text in _sentences(error))


def _order(error: Any) -> tuple[bool, list[str]]:
    """What is missing first: it is what the model most often has to add."""
    return error.validator != "required", [str(part) for part in error.absolute_path]


def _sentences(error: Any) -> Iterator[str]:
    """One jsonschema error as one or more short sentences, naming the argument by its path."""
    where = _path(error.absolute_path)
    rule, expected, value = error.validator, error.validator_value, error.instance
    if rule == "required":
        names = [name for name in expected if name not in value]
        yield from (f"missing {_path([*error.absolute_path, name])}" for name in names)
    elif rule == "additionalProperties" and isinstance(value, dict):
        known = list(error.schema.get("properties") or {})
        for name in (name for name in value if name not in known):
            yield f"unknown {_path([*error.absolute_path, name])}{_meant(name, known)}"
    elif rule == "type":
        yield f"{where} must be {_kinds([expected])}, not {_shown(value)}"
    elif rule == "enum":
        choices = ", ".join(_shown(choice) for choice in expected)
        yield f"{where} must be one of {choices}, not {_shown(value)}"
    elif rule in {"anyOf", "oneOf"} and error.context:
        yield from _alternatives(error)
    else:
        yield f"{where}: {_cut(error.message)}"


def _alternatives(error: Any) -> Iterator[str]:
    """The fault inside the alternative that was meant: the one that got deepest, or all kinds."""
    depth = len(error.absolute_path)
    deeper = [inner for inner in error.context if len(inner.absolute_path) > depth]
    if not deeper and all(inner.validator == "type" for inner in error.context):
        kinds = _kinds([inner.validator_value for inner in error.context])
        yield f"{_path(error.absolute_path)} must be {kinds}, not {_shown(error.instance)}"
        return
    telling = deeper or [inner for inner in error.context if inner.validator != "type"]
    for inner in telling or error.context:
        yield from _sentences(inner)


def _kinds(expected: Sequence[str | list[str]]) -> str:
    names = [kind for one in expected for kind in ([one] if isinstance(one, str) else one)]
    return " or ".join(dict.fromkeys(_KINDS.get(name, name) for name in names))


def _path(parts: Sequence[Any]) -> str:
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return f"'{text}'" if text else "the object"


def _meant(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, n=1)
    if close:
        return f" (did you mean '{close[0]}'?)"
    return (
        f" (known: {', '.join(repr(key) for key in known)})"
        if known
        else " (it takes no arguments)"
    )


def _shown(value: Any) -> str:
    text = quoted(value, 40) if isinstance(value, str) else repr(value)
    return {"None": "null", "True": "true", "False": "false"}.get(text, _cut(text, 60))


def _cut(text: str, limit: int = 160) -> str:
    return text if len(text) <= limit else text[:limit] + "…"
