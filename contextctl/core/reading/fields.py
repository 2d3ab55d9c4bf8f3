"""Single fields of stored JSON for a model: exact digits, bounded pages, named gaps.

A field is a path as in a profile's whitelist: ``id``, ``customer.name``, ``items[].sku``,
``items[0].price``, ``labels."app.io/name"``. Lists are crossed with or without ``[]``, one at the
top too. Several objects, one a line (NDJSON), are read as a list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.core.reading.lines import READ_BYTES, bad_arguments, json_size
from contextctl.core.shaping.read_json import inner_json, parse_json, parse_lines
from contextctl.core.shaping.select import Step, field_paths, is_text, path_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contextctl.model.message import Json, JsonObject


class _MissingType:
    """The value of a path that leads nowhere; ``null`` is a value."""


_MISSING = _MissingType()
# How the hint of a page names a result that is itself the list, and what models write for it.
_ROOT = frozenset({"[]", "$", "$[]", "."})


def fetch_fields(
    text: str, ref: str, fields: Sequence[str], max_bytes: int = READ_BYTES, *, start: int = 0
) -> JsonObject:
    """The values at ``fields``, at most about ``max_bytes`` of them.

    Lists are paged together from item ``start``: ``returned``, ``total`` and ``next`` count items,
    and an item without the field is null. A value that no page can hold is replaced by its size
    and what it consists of. ``missing`` names paths that lead nowhere and comes with the paths
    that exist; asking for no field at all lists those.
    """
    parsed = parse_json(inner_json(text.strip())) or parse_lines(text, loose=True)
    if parsed is None:
        return bad_arguments("the content is not JSON with fields; use read_workspace")
    root = parsed.value
    single: dict[str, Json] = {}
    lists: dict[str, list[Json]] = {}
    missing: list[Json] = []
    for path in fields:
        value = _at(root, path)
        if isinstance(value, _MissingType):
            missing.append(path)
        elif isinstance(value, list):
            lists[path] = value
        else:
            single[path] = value
    out: JsonObject = {"ref": ref}
    if missing or not fields:
        out["missing"] = missing
        out["available"] = list(field_paths(root))
    share = max(200, max_bytes // max(1, len(fields)))
    values: JsonObject = {path: _bounded(value, share) for path, value in single.items()}
    if not lists:
        return out | {"values": values}
    columns, page = _page(lists, max_bytes - json_size(values), share, max(0, start))
    return out | {"values": values | columns} | page


def _at(root: Json, path: str) -> Json | _MissingType:
    if isinstance(root, dict) and path in root:
        return root[path]
    if path.strip() in _ROOT:
        return root
    steps = path_steps(path)
    return _walk(root, steps) if steps else _MISSING


def _walk(node: Json, steps: Sequence[Step]) -> Json | _MissingType:
    if not steps:
        return node
    step, rest = steps[0], steps[1:]
    if isinstance(node, list):
        if isinstance(step, int):
            return _walk(node[step], rest) if step < len(node) else _MISSING
        items = [_walk(item, steps) for item in node]
        if items and all(isinstance(item, _MissingType) for item in items):
            return _MISSING
        return [None if isinstance(item, _MissingType) else item for item in items]
    if not isinstance(node, dict):
        return _MISSING
    if step in node:
        return _walk(node[str(step)], rest)
    whole = ".".join(map(str, steps))
    return node.get(whole, _MISSING)


def _page(
    lists: dict[str, list[Json]], room: int, share: int, start: int
) -> tuple[JsonObject, JsonObject]:
    """As many items of every list as fit, at least one; and how many there are."""
    total = max(len(items) for items in lists.values())
    columns: dict[str, list[Json]] = {path: [] for path in lists}
    end = start
    while end < total:
        row = {path: items[end] for path, items in lists.items() if end < len(items)}
        room -= sum(json_size(item) + 1 for item in row.values())
        if room < 0:
            if end > start:
                break
            row = {path: _bounded(item, share) for path, item in row.items()}
        for path, item in row.items():
            columns[path].append(item)
        end += 1
    page: JsonObject = {
        "start": start,
        "returned": max(0, min(end, total) - start),
        "total": total,
        "truncated": end < total,
        "next": {"start": end} if end < total else None,
    }
    return {path: list(items) for path, items in columns.items()}, page


def _bounded(value: Json, max_bytes: int) -> Json:
    """``value``, or its size and what it consists of when it is larger than ``max_bytes``."""
    size = json_size(value)
    if size <= max_bytes:
        return value
    stub: JsonObject = {"omitted_bytes": size}
    if isinstance(value, str) and is_text(value):
        stub["head"] = value[: max_bytes // 6]
    else:
        stub["fields"] = list(field_paths(value, limit=12))
    return stub
