"""Input schemas as providers take them: mended where that loses nothing a caller needs.

A server's schema may be anything. Providers refuse a whole request for one tool whose schema is no
object, has a union at its top or an array without items; here such a schema is mended, or its tool
is left out. The server checks its arguments itself, so a rule that cannot be kept is dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from contextctl.model.message import Json, JsonObject

_UNIONS = ("anyOf", "oneOf", "allOf")
_NOT_AT_TOP = (*_UNIONS, "enum", "not", "const", "if", "then", "else", "$schema", "$id", "id")
_DEEPEST = 40
_MOST_REPAIRS = 50


class Unusable(ValueError):
    """A schema that nothing can be made of; the text says why."""


def mended(schema: Json) -> JsonObject:
    """``schema`` as a JSON Schema (2020-12) of type ``object``. Raises ``Unusable``.

    It takes milliseconds, and every list is read twice (for the SDK and for us): what was mended
    lately is given again, and must not be changed.
    """
    if schema is None:
        return _empty()
    if not isinstance(schema, dict):
        raise Unusable(f"its input schema is {_kind(schema)}, not an object")
    return _mended(json.dumps(schema))


@lru_cache(maxsize=4_096)
def _mended(text: str) -> JsonObject:
    schema: JsonObject = json.loads(text)
    top = _top(schema, schema)
    kind = top.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise Unusable(f'its input schema has type {kind!r}; arguments are always an "object"')
    out = cast("JsonObject", _inside(top, schema, 0))
    for key in _NOT_AT_TOP:
        out.pop(key, None)
    out["type"] = "object"
    out.setdefault("properties", {})
    return _checked(_with_required(out))


def _empty() -> JsonObject:
    return {"type": "object", "properties": {}}


def _top(schema: JsonObject, root: JsonObject) -> JsonObject:
    """The schema with a reference followed and its unions spread out into one object."""
    schema = _resolved(schema, root)
    out = dict(schema)
    for union in _UNIONS:
        branches = schema.get(union)
        if not isinstance(branches, list):
            continue
        objects = [_resolved(branch, root) for branch in branches if isinstance(branch, dict)]
        objects = [one for one in objects if "properties" in one or one.get("type") == "object"]
        out["properties"] = _joined([out, *objects])
        required = [_names(one.get("required")) for one in objects]
        shared = set[str]().union(*required) if union == "allOf" else _in_all(required)
        out["required"] = [*sorted(_names(out.get("required")) | shared)]
        if objects:
            out["type"] = "object"
    return out


def _resolved(schema: JsonObject, root: JsonObject) -> JsonObject:
    """The schema that a local ``$ref`` leads to, with what stands beside the reference."""
    seen: set[str] = set()
    while isinstance(ref := schema.get("$ref"), str) and ref not in seen:
        seen.add(ref)
        target = _target(ref, root)
        if not isinstance(target, dict):
            break
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def _target(ref: str, root: JsonObject) -> Json:
    if not ref.startswith("#"):
        return None
    here: Json = root
    for part in ref[1:].split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict):
            here = here.get(name)
        elif isinstance(here, list) and name.isdecimal() and int(name) < len(here):
            here = here[int(name)]
        else:
            return None
    return here


def _joined(objects: list[JsonObject]) -> JsonObject:
    """All properties of several objects; one that several have is allowed to be any of theirs."""
    out: JsonObject = {}
    for one in objects:
        properties = one.get("properties")
        for name, schema in properties.items() if isinstance(properties, dict) else ():
            known = out.get(name)
            if known is None or known == schema:
                out[name] = schema
            elif isinstance(known, dict) and set(known) == {"anyOf"}:
                choices = cast("list[Json]", known["anyOf"])
                out[name] = known if schema in choices else {"anyOf": [*choices, schema]}
            else:
                out[name] = {"anyOf": [known, schema]}
    return out


def _in_all(required: list[set[str]]) -> set[str]:
    return set.intersection(*required) if required else set()


def _names(value: Json) -> set[str]:
    return (
        {str(name) for name in value if isinstance(name, str)} if isinstance(value, list) else set()
    )


def _inside(value: Json, root: JsonObject, depth: int) -> Json:
    """A schema below the top, mended: arrays have items, references lead somewhere in it."""
    if isinstance(value, bool):
        return {}
    if not isinstance(value, dict) or depth > _DEEPEST:
        return {}
    out: JsonObject = {}
    for key, inner in value.items():
        if key in ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas"):
            members = inner if isinstance(inner, dict) else {}
            out[key] = {name: _inside(one, root, depth + 1) for name, one in members.items()}
        elif key in ("items", "contains", "not", "propertyNames", "if", "then", "else"):
            out[key] = _inside(
                inner[0] if isinstance(inner, list) and inner else inner, root, depth + 1
            )
        elif key in (*_UNIONS, "prefixItems"):
            if isinstance(inner, list) and inner:
                out[key] = [_inside(one, root, depth + 1) for one in inner]
        elif key == "additionalProperties":
            out[key] = inner if isinstance(inner, bool) else _inside(inner, root, depth + 1)
        elif key == "$ref":
            if isinstance(inner, str) and isinstance(_target(inner, root), dict):
                out[key] = inner
        elif key == "pattern" and not _is_pattern(inner):
            continue
        elif key not in ("$schema", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor"):
            out[key] = inner
    kinds = out.get("type")
    if (kinds == "array" or (isinstance(kinds, list) and "array" in kinds)) and "items" not in out:
        out["items"] = {}
    return out


def _is_pattern(value: Json) -> bool:
    """Whether Python can read it: patterns are written for JavaScript."""
    try:
        re.compile(str(value))
    except re.error:
        return False
    return True


def _with_required(schema: JsonObject) -> JsonObject:
    """Only names that are there can be required."""
    if "required" not in schema:
        return schema
    properties = cast("JsonObject", schema["properties"])
    listed = schema["required"] if isinstance(schema["required"], list) else []
    named = [name for name in dict.fromkeys(map(str, listed)) if name in properties]
    rest = {key: value for key, value in schema.items() if key != "required"}
    return {**rest, "required": cast("Json", named)} if named else rest


def _checked(schema: JsonObject) -> JsonObject:
    """The schema without whatever the metaschema refuses. Raises ``Unusable``."""
    from jsonschema.validators import Draft202012Validator  # only servers that are listed need it

    validator = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    for _ in range(_MOST_REPAIRS):
        error = next(iter(validator.iter_errors(schema)), None)
        if error is None:
            return schema
        if not error.absolute_path:
            raise Unusable(f"its input schema is no JSON Schema: {error.message}")
        _remove(schema, [*error.absolute_path])
    raise Unusable("its input schema has too many faults")


def _remove(schema: Json, path: list[str | int]) -> None:
    """Take out the keyword at fault: the last name on the way to it."""
    here = schema
    owner, key = cast("JsonObject", schema), str(path[0])
    for part in path:
        if isinstance(here, dict):
            owner, key = here, str(part)
            here = here[str(part)]
        elif isinstance(here, list):
            here = here[int(part)]
    owner.pop(key, None)


def _kind(value: Json) -> str:
    names: Mapping[type, str] = {str: "a text", list: "a list", bool: "a boolean"}
    return names.get(type(value), "a number")
