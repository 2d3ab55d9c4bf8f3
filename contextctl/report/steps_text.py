"""The ledger of a task as a table: one line a step, for the eye that looks for what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextctl.model.message import Json, JsonObject
from contextctl.report.columns import table

TAIL = "query.reminders"
_DIGEST = 6  # characters: enough to see that it changed


def steps_text(lines: Sequence[JsonObject]) -> str:
    """Size, zone, tokens of the held prefix, the digest of each layer (``*``: changed), where the
    prefix broke, tokens of the tail, and the actions that the step took."""
    if not lines:
        return "no step was taken"
    names = [str(layer.get("id")) for layer in _layers(lines[-1])]
    head = ["STEP", "TOKENS", "ZONE", "REUSED", *(n.upper() for n in names), "BROKE", "TAIL", "DID"]
    right = [True, True, False, True, *(False for _ in names), False, True, False]
    return "\n".join(table([head, *(_row(line, names) for line in lines)], right))


def _row(line: JsonObject, names: Sequence[str]) -> list[str]:
    prefix, parts = _object(line.get("prefix")), _object(line.get("parts"))
    layers = {str(layer.get("id")): layer for layer in _layers(line)}
    return [
        str(line.get("step")),
        _number(line.get("total")),
        str(line.get("zone") if line.get("status") == "ok" else line.get("status")),
        _number(prefix.get("reused_tokens")),
        *(_digest(layers.get(name)) for name in names),
        str(prefix.get("broke_at") or "-"),
        _number(parts.get(TAIL) or 0),
        _did(line),
    ]


def _layers(line: JsonObject) -> list[Mapping[str, Json]]:
    layers = _object(line.get("prefix")).get("layers")
    return [_object(layer) for layer in layers] if isinstance(layers, list) else []


def _digest(layer: Mapping[str, Json] | None) -> str:
    if layer is None:
        return "-"
    return f"{str(layer.get('digest'))[:_DIGEST]}{'*' if layer.get('changed') else ''}"


def _did(line: JsonObject) -> str:
    actions = line.get("actions")
    new = [_object(one) for one in actions] if isinstance(actions, list) else []
    kinds = [str(one.get("kind")) for one in new if one.get("new")]
    return ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds)) or "-"


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _number(value: Json) -> str:
    return f"{value:,}" if isinstance(value, int) else "-"
