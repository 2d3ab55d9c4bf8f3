"""A whitelist of paths applied to a JSON value, lossless for what it keeps.

A path is keys joined by dots: ``id``, ``customer.name``, ``items[].sku``, ``items[0].price``,
``labels."app.kubernetes.io/name"``. Lists are crossed with or without ``[]``. A row that has none
of the fields stays, empty: rows are never dropped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from contextctl.core.reading.exact_json import Number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from contextctl.model.message import Json

Step: TypeAlias = str | int
_STEP = re.compile(r'"((?:[^"\\]|\\.)*)"|\[(\d*)\]|([^.\[\]"]+)')


class Paths:
    """The paths of a whitelist as a tree. ``ends`` are the paths that are whole at this place."""

    __slots__ = ("ends", "next")

    def __init__(self) -> None:
        self.next: dict[Step, Paths] = {}
        self.ends: set[str] = set()

    @classmethod
    def of(cls, fields: Iterable[str]) -> Paths:
        """The tree of ``fields``."""
        root = cls()
        for path in fields:
            node = root
            for step in path_steps(path):
                node = node.next.setdefault(step, cls())
            node.ends.add(path)
        return root

    def step(self, key: Step) -> Paths | None:
        """Where ``key`` leads; a key with dots may have been written as several steps."""
        node = self.next.get(key)
        if node is not None or not isinstance(key, str) or "." not in key:
            return node
        node = self
        for part in key.split("."):
            following = node.next.get(part)
            if following is None:
                return None
            node = following
        return node

    def merged(self, other: Paths) -> Paths:
        """Both trees in one."""
        out = Paths()
        out.ends = self.ends | other.ends
        for key in [*self.next, *(key for key in other.next if key not in self.next)]:
            mine, theirs = self.next.get(key), other.next.get(key)
            out.next[key] = mine.merged(theirs) if mine and theirs else (mine or theirs or Paths())
        return out


def path_steps(path: str) -> tuple[Step, ...]:
    """The keys (text) and indexes (numbers) of a path; ``[]`` crosses a list and is no step."""
    steps: list[Step] = []
    for quoted, index, name in _STEP.findall(path):
        if name:
            steps.append(name)
        elif index:
            steps.append(int(index))
        elif quoted:
            steps.append(re.sub(r"\\(.)", r"\1", quoted))
    return tuple(steps)


def select(value: Json, paths: Paths, matched: set[str]) -> Json:
    """The parts of ``value`` that ``paths`` name, in its own order; ``matched`` collects them.

    The outermost value always stays, as an empty object or as a list of empty rows if need be.
    """
    if paths.ends:
        matched |= paths.ends
        return value
    if isinstance(value, list):
        return _rows(value, paths, matched)
    if isinstance(value, dict):
        return _entries(value, paths, matched)
    return None


def value_at(value: Json, steps: Sequence[Step]) -> Json:
    """The value at a path that crosses no list; None when it leads nowhere."""
    for position, step in enumerate(steps):
        if isinstance(value, dict):
            if step in value:
                value = value[str(step)]
                continue
            whole = ".".join(map(str, steps[position:]))
            return value.get(whole)
        if not (isinstance(value, list) and isinstance(step, int) and step < len(value)):
            return None
        value = value[step]
    return value


def field_paths(value: Json, limit: int = 40, depth: int = 6) -> tuple[str, ...]:
    """The paths to the leaves of ``value`` in the order they occur, at most ``limit`` of them."""
    found: dict[str, None] = {}

    def walk(node: Json, path: str, level: int) -> None:
        if len(found) >= limit:
            return
        if isinstance(node, dict) and node and level < depth:
            for key, item in node.items():
                walk(item, f"{path}.{_name(key)}" if path else _name(key), level + 1)
        elif isinstance(node, list) and node and level < depth:
            for item in node[:3]:
                walk(item, f"{path}[]" if path else "", level + 1)
        elif path:
            found[path] = None

    walk(value, "", 0)
    return tuple(found)


def _name(key: str) -> str:
    plain = key and not any(c in key for c in '.[]"')
    return key if plain else '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _entries(value: dict[str, Json], paths: Paths, matched: set[str]) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for key, item in value.items():
        below = paths.step(key)
        if below is None:
            continue
        inside: set[str] = set()
        kept = select(item, below, inside)
        if inside or item == [] or item is None:
            matched |= inside
            out[key] = kept
    return out


def _rows(value: list[Json], paths: Paths, matched: set[str]) -> list[Json]:
    indexes = sorted(step for step in paths.next if isinstance(step, int))
    if indexes:
        chosen = [(value[i], paths.next[i]) for i in indexes if i < len(value)]
        return [select(item, below, matched) for item, below in chosen]
    return [select_row(item, paths, matched) for item in value]


def select_row(row: Json, paths: Paths, matched: set[str]) -> Json:
    """One row: one that is no object has no field to choose from, and stays ("timed out")."""
    return select(row, paths, matched) if isinstance(row, (dict, list)) else row


def is_text(value: Json) -> bool:
    """Whether a value is a JSON string (numbers also travel as text)."""
    return isinstance(value, str) and not isinstance(value, Number)
