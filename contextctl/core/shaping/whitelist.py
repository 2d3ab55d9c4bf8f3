"""A whitelist over a result whose records are a list: paths from the root, and from the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextctl.core.shaping.select import field_paths, select, select_row

if TYPE_CHECKING:
    from contextctl.core.shaping.items import Items
    from contextctl.core.shaping.select import Paths
    from contextctl.model.message import Json

_SAMPLE = 50


def whitelisted(
    root: Json, paths: Paths, matched: set[str], items: Items | None, rows: list[Json]
) -> Json:
    """What ``paths`` name of ``root``, whose list ``items`` holds ``rows`` now.

    A path that starts at the rows of a list inside an object holds there as well: a rule need not
    know how a tool wraps its records. ``matched`` collects the paths that exist.
    """
    kept = select(root, paths, matched)
    if items is None or not items.path:
        return kept
    inside: set[str] = set()
    for row in rows:
        select(row, paths, inside)
    if not inside:
        return kept if rows else _with_list(kept, items.path, [])
    matched |= inside
    below: Paths | None = paths
    for key in items.path:
        below = below.step(key) if below is not None else None
    both = paths if below is None else below.merged(paths)
    return _with_list(kept, items.path, [select_row(row, both, set()) for row in rows])


def _with_list(kept: Json, path: tuple[str, ...], rows: list[Json]) -> Json:
    """``kept`` with ``rows`` at ``path``, adding the objects that lead there."""
    if not path:
        return rows
    inner = kept if isinstance(kept, dict) else {}
    return {**inner, path[0]: _with_list(inner.get(path[0]), path[1:], rows)}


def dropped_fields(before: Json, after: Json, items: Items | None) -> int:
    """How many field names are gone: of the rows where there are rows, else of the object."""
    if before == after:
        return 0
    for key in items.path if items is not None else ():
        before = before[key] if isinstance(before, dict) else before
        after = after.get(key) if isinstance(after, dict) else after
    old = set(field_paths(_sample(before), 1_000))
    return max(1, len(old - set(field_paths(_sample(after), 1_000))))


def _sample(value: Json) -> Json:
    return value[:_SAMPLE] if isinstance(value, list) else value
