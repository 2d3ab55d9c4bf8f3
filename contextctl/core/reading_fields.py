"""Single fields of stored JSON for a model: exact digits, bounded pages, named gaps.

A field is a path such as ``id``, ``customer.name``, ``items[].sku`` or ``items[0].price``;
``[]`` goes through a list. Where the text is a list, a path starts at its items. Several objects,
one a line (NDJSON), are read as a list.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contextctl.core.exact_json import Number, parse_exact
from contextctl.core.reading import READ_BYTES, bad_arguments, json_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contextctl.model.message import Json, JsonObject

_STEP = re.compile(r"([^.\[\]]+)|\[(\d*)\]")
_PATHS_SHOWN = 40
_DEPTH_SHOWN = 8


class _MissingType:
    """The value of a path that leads nowhere; ``null`` is a value."""


_MISSING = _MissingType()


def fetch_fields(
    text: str, ref: str, fields: Sequence[str], max_bytes: int = READ_BYTES, *, start: int = 0
) -> JsonObject:
    """The values at ``fields``, at most about ``max_bytes`` of them.

    Lists are paged together from item ``start``: ``returned``, ``total`` and ``next`` count items,
    and an item without the field is null. A value that no page can hold is replaced by its size
    and what it consists of. ``missing`` names paths that lead nowhere and comes with the paths
    that exist; asking for no field at all lists those.
    """
    try:
        root = _parse(text)
    except ValueError as error:
        return bad_arguments(f"the content is not JSON ({error}); use read_workspace")
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


def field_paths(root: Json, limit: int = _PATHS_SHOWN) -> tuple[str, ...]:
    """The paths to the leaves of ``root`` in the order they occur, at most ``limit`` of them."""
    paths: dict[str, None] = {}

    def walk(node: Json, path: str, depth: int) -> None:
        if len(paths) >= limit:
            return
        if isinstance(node, dict) and node and depth < _DEPTH_SHOWN:
            for key, item in node.items():
                walk(item, f"{path}.{key}" if path else key, depth + 1)
        elif isinstance(node, list) and node and depth < _DEPTH_SHOWN:
            for item in node[:3]:
                walk(item, f"{path}[]", depth + 1)
        elif path:
            paths[path] = None

    walk(root, "", 0)
    return tuple(paths)


def _parse(text: str) -> Json:
    try:
        return parse_exact(text)
    except ValueError as whole:
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) < 2:
            raise
        try:
            return [parse_exact(line) for line in lines]
        except ValueError:
            raise whole from None


def _at(root: Json, path: str) -> Json | _MissingType:
    if isinstance(root, dict) and path in root:
        return root[path]
    if isinstance(root, list) and not path.startswith("["):
        path = f"[].{path}"
    steps = _STEP.findall(path)
    return _walk(root, steps) if steps else _MISSING


def _walk(node: Json, steps: Sequence[tuple[str, str]]) -> Json | _MissingType:
    if not steps:
        return node
    (name, index), rest = steps[0], steps[1:]
    if name:
        return _walk(node[name], rest) if isinstance(node, dict) and name in node else _MISSING
    if not isinstance(node, list):
        return _MISSING
    if index:
        return _walk(node[int(index)], rest) if int(index) < len(node) else _MISSING
    items = [_walk(item, rest) for item in node]
    if items and all(isinstance(item, _MissingType) for item in items):
        return _MISSING
    return [None if isinstance(item, _MissingType) else item for item in items]


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
    if isinstance(value, str) and not isinstance(value, Number):
        stub["head"] = value[: max_bytes // 6]
    else:
        stub["fields"] = list(field_paths(value, limit=12))
    return stub
