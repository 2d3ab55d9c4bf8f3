"""Problems of a profile, each at the place its value was set, in the order a reader meets them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from contextctl.errors import Problem
from contextctl.io.profile.chain import dotted
from contextctl.io.profile.yaml_nodes import Listing, Node, Place, Scalar, Table
from contextctl.model.message import Json, JsonObject
from contextctl.model.profile import Origin, pointer_to

Way = tuple[str | int, ...]
_RANK = {"error": 0, "warning": 1, "note": 2}


@dataclass(slots=True)
class Places:
    """Where each value and each key of a tree stands."""

    values: dict[Way, Place] = field(default_factory=dict)
    keys: dict[Way, Place] = field(default_factory=dict)

    def add(self, node: Node, way: Way = ()) -> Json:
        """Note the places of ``node`` and return its plain value."""
        self.values[way] = node.place
        if isinstance(node, Scalar):
            return node.value
        if isinstance(node, Listing):
            return [self.add(item, (*way, i)) for i, item in enumerate(node.items)]
        out: JsonObject = {}
        for key, entry in node.entries.items():
            self.keys[(*way, key)] = entry.key_place
            out[key] = self.add(entry.node, (*way, key))
        return out

    def at(self, way: Way, *, key: bool = False) -> Place:
        """The place of a value (or of its key), else of the nearest one above it that stands."""
        while way:
            found = (self.keys if key else self.values).get(way) or self.values.get(way)
            if found is not None:
                return found
            way, key = way[:-1], True
        return self.values.get((), Place("", 1, 1))

    def origins(self) -> dict[str, Origin]:
        """The origin of every declared value by JSON pointer; a key's line where it has one."""
        out: dict[str, Origin] = {}
        for way, value_place in self.values.items():
            place = self.keys.get(way, value_place)
            if way:
                pointer = pointer_to(way)
                out[pointer] = Origin(pointer, place.path, place.line)
        return out

    def problem(
        self,
        way: Way,
        message: str,
        suggestion: str = "",
        severity: str = "error",
        *,
        key: bool = False,
    ) -> Problem:
        """A problem at ``way``."""
        place = self.at(way, key=key)
        return Problem(
            place.path, place.line, place.column, dotted(way), message, suggestion, severity
        )


def ordered(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """By file in the order they first appear, then by position, errors first; none twice."""
    listed = list(dict.fromkeys(problems))
    files = {path: index for index, path in enumerate(dict.fromkeys(p.path for p in listed))}
    return tuple(sorted(listed, key=lambda p: (files[p.path], p.line, p.column, _RANK[p.severity])))


def pruned(tree: Table, ways: Iterable[Way]) -> Table:
    """``tree`` without the values at ``ways``, so that the rest can still be looked at."""
    for way in sorted(set(ways), key=lambda way: (len(way), [str(step) for step in way])):
        left = _without(tree, way)
        tree = left if isinstance(left, Table) else Table({}, tree.place)
    return tree


def _without(node: Node, way: Way) -> Node | None:
    if not way:
        return None
    step, rest = way[0], way[1:]
    if isinstance(node, Table) and isinstance(step, str) and step in node.entries:
        entry = node.entries[step]
        entries = dict(node.entries)
        inner = _without(entry.node, rest)
        if inner is None:
            del entries[step]
        else:
            entries[step] = type(entry)(entry.key_place, inner)
        return Table(entries, node.place)
    if isinstance(node, Listing) and isinstance(step, int) and step < len(node.items):
        # A list with a hole would move the items behind it: the whole list goes.
        return None
    return node
