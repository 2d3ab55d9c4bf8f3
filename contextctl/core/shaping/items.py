"""Where in a JSON result the records are: the list that a page is a page of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextctl.model.message import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Items:
    """The records of a result. ``path`` are the keys from the root to the list, () for the root."""

    path: tuple[str, ...]
    rows: list[Json]


def find_items(root: Json, *, only_records: bool = False) -> Items | None:
    """The largest list of records that is reached through objects alone, or None.

    A list of objects goes before a list of anything else, more rows before fewer, an outer list
    before an inner one. ``only_records`` looks for objects alone.
    """
    best: tuple[tuple[bool, int, int], Items] | None = None
    todo: list[tuple[tuple[str, ...], Json]] = [((), root)]
    while todo:
        path, node = todo.pop(0)
        if isinstance(node, list):
            # One row that is a message ("timed out") does not make the others no records.
            objects = [isinstance(row, dict) for row in node[:5]]
            records = sum(objects) * 2 > len(objects)
            rank = (records, len(node), -len(path))
            if (records or not only_records) and (best is None or rank > best[0]):
                best = (rank, Items(path, node))
        elif isinstance(node, dict) and len(path) < _DEPTH:
            todo += [((*path, key), item) for key, item in node.items()]
    return None if best is None else best[1]


def with_rows(root: Json, path: Sequence[str], rows: list[Json]) -> Json:
    """``root`` with other rows at ``path``; what is beside the list stays, nothing is changed."""
    if not path:
        return rows
    if not isinstance(root, dict):
        return root
    return {
        key: with_rows(item, path[1:], rows) if key == path[0] else item
        for key, item in root.items()
    }
