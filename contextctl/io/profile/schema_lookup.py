"""Questions asked of a JSON Schema: what stands at a path, which keys exist, in which words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from contextctl.model.message import Json, JsonObject

_WORDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "a mapping",
    "null": "null",
}


def schema_at(schema: JsonObject, way: Sequence[str | int]) -> JsonObject | None:
    """The schema at ``way``: None when no key may stand there, ``{}`` when any value may."""
    here: JsonObject = schema
    for step in way:
        below = _below(here, step)
        if below is None:
            return None
        here = below
    return here


def types_of(schema: JsonObject | None) -> set[str]:
    """The JSON types a schema allows; empty when it allows any."""
    kinds = (schema or {}).get("type")
    if isinstance(kinds, str):
        return {kinds}
    return {str(kind) for kind in kinds} if isinstance(kinds, list) else set()


def expected(schema: JsonObject) -> str:
    """What a schema wants, in words: ``a string or a list of strings``."""
    kinds = schema.get("type")
    names = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    words = [_listed(schema) if kind == "array" else _WORDS[str(kind)] for kind in names]
    return " or ".join(words) or "another value"


def keys_of(schema: JsonObject) -> list[str]:
    """The keys a mapping may have by name."""
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []


def meant(schema: JsonObject, way: Sequence[str | int], key: str) -> str:
    """A suggestion for the unknown ``key`` below ``way``, or an empty string."""
    beside = get_close_matches(key, keys_of(schema_at(schema, way) or {}), 1)
    if beside:
        return f"did you mean '{beside[0]}'?"
    if key == "<<":
        return "merge keys belong to YAML 1.1; use 'extends'"
    top = get_close_matches(key, keys_of(schema), 1)
    if top and way:
        return f"did you mean '{top[0]}', which stands at the top level?"
    homes = [home for home, name in _all_keys(schema, "") if name == key]
    return f"did you mean '{homes[0]}.{key}'?" if homes else ""


def _below(schema: JsonObject, step: str | int) -> JsonObject | None:
    if isinstance(step, int):
        items = schema.get("items")
        return items if isinstance(items, dict) else {} if "items" not in schema else None
    properties = schema.get("properties")
    if isinstance(properties, dict):
        own = properties.get(step)
        if isinstance(own, dict):
            return own
    extra = schema.get("additionalProperties", True)
    return extra if isinstance(extra, dict) else {} if extra is True else None


def _listed(schema: JsonObject) -> str:
    items = schema.get("items")
    kind = items.get("type") if isinstance(items, dict) else None
    names = {"string": " of strings", "object": " of mappings", "integer": " of integers"}
    return "a list" + names.get(str(kind), "")


def _all_keys(schema: Json, way: str) -> Iterator[tuple[str, str]]:
    """Every key below ``schema`` with the dotted path of the mapping it stands in."""
    if not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, inner in properties.items():
            if way:
                yield way, name
            yield from _all_keys(inner, f"{way}.{name}" if way else name)
    yield from _all_keys(schema.get("additionalProperties"), f"{way}.<name>")
    yield from _all_keys(schema.get("items"), f"{way}[]")
