"""What a YAML file holds, every value with its place, and what plain scalars mean in YAML 1.2.

Scalars follow the core schema of YAML 1.2: ``no``, ``on``, ``1:30``, ``1_000`` and dates stay
text, and ``010`` is ten.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from contextctl.model.message import Json

_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


ScalarValue: TypeAlias = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file, counted from 1. Line 0: not in a file (``path`` says where instead)."""

    path: str
    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class Scalar:
    """``text`` is the value as written; ``plain`` says that it stood without quotes or tag."""

    value: ScalarValue
    place: Place
    text: str = ""
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """A YAML sequence."""

    items: tuple[Node, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Entry:
    """A value under its key; ``key_place`` is where the key stands."""

    key_place: Place
    node: Node


@dataclass(frozen=True, slots=True)
class Table:
    """A YAML mapping, in the order of the file."""

    entries: dict[str, Entry]
    place: Place


Node: TypeAlias = Scalar | Listing | Table


def plain(node: Node | None) -> Json:
    """The values of ``node`` without their places."""
    if node is None:
        return None
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Listing):
        return [plain(item) for item in node.items]
    return {key: plain(entry.node) for key, entry in node.entries.items()}


def node_of(value: Json, place: Place) -> Node:
    """Plain values as nodes that all stand at ``place``."""
    if isinstance(value, dict):
        return Table({k: Entry(place, node_of(item, place)) for k, item in value.items()}, place)
    if isinstance(value, list):
        return Listing(tuple(node_of(item, place) for item in value), place)
    return Scalar(value, place, str(value))


def core_value(text: str) -> ScalarValue:
    """What a plain scalar means in YAML 1.2: null, a truth value, a number, else text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        base = {"0o": 8, "0x": 16}.get(text[:2])
        return int(text) if base is None else int(text[2:], base)
    if _FLOAT.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text
