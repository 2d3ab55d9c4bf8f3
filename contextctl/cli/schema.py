"""``contextctl schema``: the JSON Schemas, and the documentation of one key."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Annotated

import typer

from contextctl.cli.output import Format, show, show_json
from contextctl.errors import UsageError
from contextctl.io.profile.schema_lookup import expected, keys_of, meant, schema_at
from contextctl.io.profile.shipped import schema
from contextctl.model.message import JsonObject


class SchemaName(StrEnum):
    """The published schemas."""

    profile = "profile"
    task = "task"
    ledger = "ledger"
    record = "record"


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("schema")(show_schema)


def show_schema(
    name: Annotated[SchemaName, typer.Argument(show_default=False)],
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="[KEY]", help="A dotted key, as budget.reduce or tools.NAME.result."
        ),
    ] = None,
    output: Annotated[Format, typer.Option("--format")] = Format.text,
) -> None:
    """Print a JSON Schema, or what one KEY means: its type, default and the keys below it.

    Example:  contextctl schema profile budget.reduce
    """
    whole = schema(name.value)
    if key is None:
        show_json(whole)
        return
    way = _way(key)
    if name is SchemaName.record:
        whole, way = _event(whole, way)
    found = schema_at(whole, way)
    if not found:
        last = str(way[-1]) if way else key
        hint = meant(whole, way[:-1], last) if schema_at(whole, way[:-1]) is not None else ""
        raise UsageError(f"'{name}' has no key '{key}'" + (f"; {hint}" if hint else ""))
    if output is Format.json:
        show_json(found)
    else:
        show(_documented(key, found))


def _event(whole: JsonObject, way: list[str | int]) -> tuple[JsonObject, list[str | int]]:
    """In a record the first step of a key is the kind of event; its keys are those of that kind."""
    branches = whole.get("allOf")
    for branch in branches if isinstance(branches, list) and way else []:
        kind = schema_at(branch["if"], ["kind"]) if isinstance(branch, dict) else None  # type: ignore[arg-type]
        if kind is not None and kind.get("const") == way[0] and isinstance(branch, dict):
            then = branch["then"]
            return (then, way[1:]) if isinstance(then, dict) else (whole, way)
    return whole, way


def _way(key: str) -> list[str | int]:
    steps = re.findall(r"[^.\[\]]+|\[\d*\]", key)
    return [int(s.strip("[]") or 0) if s.startswith("[") else s for s in steps]


def _documented(key: str, found: JsonObject) -> str:
    """The text for one key."""
    lines = [key, f"  {found.get('description', '')}"]
    if "enum" in found or "type" in found:
        lines.append(f"  type: {_type(found)}")
    if "default" in found and found["default"] != {}:
        lines.append(f"  default: {json.dumps(found['default'], ensure_ascii=False)}")
    limits = [f"{word} {found[rule]}" for rule, word in _LIMITS.items() if rule in found]
    if limits:
        lines.append(f"  range: {', '.join(limits)}")
    below, prefix = found, ""
    for holder, mark in (("additionalProperties", "<name>."), ("items", "[].")):
        inner = found.get(holder)
        if isinstance(inner, dict) and not keys_of(found):
            below, prefix = inner, mark
    for name in keys_of(below):
        inner = schema_at(below, [name]) or {}
        default = f" [{json.dumps(inner['default'], ensure_ascii=False)}]" if _simple(inner) else ""
        lines.append(f"  {prefix}{name}{default}: {inner.get('description', '')}")
    return "\n".join(lines)


_LIMITS = {
    "minimum": "at least",
    "exclusiveMinimum": "greater than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}


def _type(found: JsonObject) -> str:
    choices = found.get("enum")
    if isinstance(choices, list):
        return " | ".join(str(choice) for choice in choices)
    return expected(found)


def _simple(inner: JsonObject) -> bool:
    return "default" in inner and not isinstance(inner["default"], (dict, list))
