"""The JSON Schema of a profile, applied: each violation as one precise sentence at one place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from contextctl.io.profile.schema_lookup import expected, keys_of, meant, schema_at, types_of
from contextctl.io.profile.shipped import schema
from contextctl.model.message import Json, JsonObject

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

Way = tuple[str | int, ...]
_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number"}
_BOUNDS = {
    "minimum": "must be at least",
    "maximum": "must be at most",
    "exclusiveMinimum": "must be greater than",
    "exclusiveMaximum": "must be less than",
}


class Violation(NamedTuple):
    """``way`` leads to the value at fault; ``at_key`` points at its key rather than at it."""

    way: Way
    message: str
    suggestion: str = ""
    at_key: bool = False


@dataclass(frozen=True, slots=True)
class _Broken:
    """What jsonschema says of one broken rule: which, by what value, and where."""

    rule: str
    wanted: Any
    value: Any
    schema: Any
    message: str
    way: Way


def violations(mapping: JsonObject, raw: Mapping[Way, str]) -> list[Violation]:
    """Everything in ``mapping`` that the profile schema does not allow.

    ``raw`` gives what was written where a value came from the environment: it is quoted instead.
    """
    found: dict[tuple[Way, str], Violation] = {}
    for raised in _validator().iter_errors(mapping):
        error = _Broken(
            str(raised.validator),
            raised.validator_value,
            raised.instance,
            raised.schema,
            raised.message,
            tuple(raised.absolute_path),
        )
        for violation in _sentences(error, mapping, raw):
            found.setdefault((violation.way, violation.message), violation)
    return list(found.values())


@cache
def _validator() -> Validator:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    # JSON Schema takes 1e3 for an integer; a profile's whole numbers are written as such.
    whole = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_whole)
    checker: Any = extend(Draft202012Validator, type_checker=whole)  # type: ignore[no-untyped-call]
    validator: Validator = checker(schema("profile"))
    return validator


def _is_whole(_checker: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _sentences(error: _Broken, mapping: JsonObject, raw: Mapping[Way, str]) -> Iterator[Violation]:
    special = _SPECIAL.get(error.rule)
    if error.schema is False:
        yield _excluded(mapping, error.way)
    elif special is not None:
        yield from special(error)
    else:
        message, suggestion = _simple(error, raw)
        yield Violation(error.way, message, suggestion)


def _simple(error: _Broken, raw: Mapping[Way, str]) -> tuple[str, str]:
    """A sentence about one value."""
    rule, value, wanted = error.rule, error.value, error.wanted
    got = _shown(value, raw.get(error.way))
    if rule == "type":
        return f"must be {expected(error.schema)}, got {got}", _type_hint(error.schema, value)
    if rule in ("enum", "const"):
        choices = list(wanted) if rule == "enum" else [wanted]
        words = [choice for choice in choices if isinstance(choice, str)]
        close = get_close_matches(value, words, 1) if isinstance(value, str) else []
        names = ", ".join(_literal(choice) for choice in choices)
        wants = f"one of {names}" if len(choices) > 1 else names
        others = types_of(schema_at(schema("profile"), error.way)) - {"string"}
        if rule == "enum" and others and "type" not in error.schema:  # a word beside other types
            wants = f"{expected({'type': [*sorted(others)]})} or {wants}"
        return f"must be {wants}, got {got}", f"did you mean '{close[0]}'?" if close else ""
    if rule in _BOUNDS:
        return f"{_BOUNDS[rule]} {wanted}, got {got}", ""
    if rule in ("minItems", "minLength", "minProperties"):
        return "must not be empty", "leave the key out instead"
    if rule == "uniqueItems":
        twice = next(item for i, item in enumerate(value) if item in value[:i])
        return f"lists {_literal(twice)} twice", ""
    if rule == "pattern":
        return f"got {got}, which does not fit: {error.schema.get('description', wanted)}", ""
    return error.message, ""


def _unknown_keys(error: _Broken) -> Iterator[Violation]:
    known = keys_of(error.schema)
    for key in error.value:
        if key not in known:
            hint = meant(schema("profile"), error.way, key)
            yield Violation((*error.way, key), f"unknown key '{key}'", hint, at_key=True)


def _missing_keys(error: _Broken) -> Iterator[Violation]:
    # jsonschema reports each missing key in an error of its own; its name stands in the message.
    for key in error.wanted:
        if key not in error.value and error.message.startswith(repr(key)):
            yield Violation(
                error.way, f"the key '{key}' is required", f"add '{key}: …'", at_key=True
            )


def _none_of(error: _Broken) -> Iterator[Violation]:
    choices = [f"'{branch['required'][0]}'" for branch in error.wanted]
    yield Violation(error.way, f"needs one of {', '.join(choices)}", "", at_key=True)


def _excluded(mapping: JsonObject, way: Way) -> Violation:
    """Two keys that each say what kind of thing this is. Told once, at the later one."""
    # jsonschema leaves the key out of the path of a value that nothing may be.
    holder = way if len(_rivals(mapping, way)) > 1 else way[:-1]
    present = _rivals(mapping, holder)
    message = f"'{present[-1]}' cannot stand beside '{present[0]}'"
    return Violation((*holder, present[-1]), message, "keep one of them", at_key=True)


def _rivals(mapping: JsonObject, way: Way) -> list[str]:
    """The keys of the value at ``way`` that exclude each other, in the order of the file."""
    value: Json = mapping
    for step in way:
        value = value[step]  # type: ignore[index]  # the way was walked by jsonschema
    branches = (schema_at(schema("profile"), way) or {}).get("allOf")
    kinds = [
        branch["if"]["required"][0]  # type: ignore[index, call-overload]  # written so in the schema
        for branch in (branches if isinstance(branches, list) else [])
        if isinstance(branch, dict) and "if" in branch
    ]
    return [key for key in value if key in kinds] if isinstance(value, dict) else []


_SPECIAL: dict[str, Callable[[_Broken], Iterator[Violation]]] = {
    "additionalProperties": _unknown_keys,
    "required": _missing_keys,
    "anyOf": _none_of,
}


def _shown(value: Json, raw: str | None) -> str:
    if raw is not None:
        return f"the value of '{raw}'"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "null"
    return f"{_NAMES[type(value)]} {_literal(value)}"


def _literal(value: Json) -> str:
    if isinstance(value, str):
        return f"'{value if len(value) <= 60 else value[:57] + '…'}'"
    return json.dumps(value, ensure_ascii=False)


def _type_hint(wanted: JsonObject, value: Json) -> str:
    kinds = wanted.get("type")
    if kinds == "boolean" and str(value).lower() in ("yes", "no", "on", "off"):
        return "write true or false"
    if kinds == "string" and isinstance(value, (bool, int, float)):
        return f'quote it: "{json.dumps(value)}"'
    if kinds in ("integer", "number") and isinstance(value, str):
        return "write a number without quotes or units"
    if kinds == "array" and isinstance(value, str):
        return "write a list: [" + value + "]"
    return ""
