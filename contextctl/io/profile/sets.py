"""``--set KEY=VALUE``: single values put over a profile from the command line.

``KEY`` is a dotted path (``budget.reduce.target``, ``prefix[0].text``, ``tools."a.b".timeout_s``).
``VALUE`` is a YAML scalar, or a list or mapping in flow style; ``null`` removes the key.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contextctl.errors import UsageError
from contextctl.io.profile.yaml_nodes import Entry, Listing, Node, Place, Scalar, Table, core_value
from contextctl.io.profile.yaml_positions import YamlError, read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable

_STEP = re.compile(r'"(?P<quoted>[^"]*)"|\[(?P<index>\d+)\]|(?P<bare>[^.\[\]"]+)')


def with_sets(tree: Table, sets: Iterable[str]) -> Table:
    """``tree`` with each of ``sets`` applied in turn. Raises ``UsageError`` for a malformed one."""
    for text in sets:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--set '{text}': write KEY=VALUE, as budget.reduce.target=0.4")
        steps = _steps(key.strip())
        place = Place(f"--set {key.strip()}")
        node = _put(tree, steps, _value(value.strip(), place, text), place)
        if not isinstance(node, Table) or steps[0] == "extends":
            raise UsageError(f"--set '{text}': this key cannot be set")
        tree = node
    return tree


def _steps(key: str) -> list[str | int]:
    steps: list[str | int] = []
    at = 0
    while at < len(key):
        found = _STEP.match(key, at)
        if found is None:
            raise UsageError(f"--set '{key}': cannot read the key at '{key[at:]}'")
        if found["index"] is not None:
            steps.append(int(found["index"]))
        else:
            steps.append(found["quoted"] if found["quoted"] is not None else found["bare"])
        at = found.end()
        if key[at : at + 1] == ".":
            at += 1
            if at == len(key):
                raise UsageError(f"--set '{key}': a key cannot end with a dot")
    return steps


def _value(text: str, place: Place, shown: str) -> Node:
    if text[:1] not in ("[", "{", '"', "'"):
        return Scalar(core_value(text), place, text, plain=True)
    try:
        document = read_yaml(text)
    except YamlError as error:
        raise UsageError(f"--set '{shown}': {error.fault.message}") from None
    if document.faults:
        raise UsageError(f"--set '{shown}': {document.faults[0].message}")
    return _placed(document.root or Scalar(None, place), place)


def _placed(node: Node, place: Place) -> Node:
    """``node`` as if all of it stood at ``place``."""
    if isinstance(node, Scalar):
        return Scalar(node.value, place, node.text, node.plain)
    if isinstance(node, Listing):
        return Listing(tuple(_placed(item, place) for item in node.items), place)
    entries = {k: Entry(place, _placed(e.node, place)) for k, e in node.entries.items()}
    return Table(entries, place)


def _put(node: Node | None, steps: list[str | int], value: Node, place: Place) -> Node:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(node, Listing):
        index = int(step) if isinstance(step, int) or step.isdecimal() else -1
        if not 0 <= index < len(node.items):
            raise UsageError(f"{place.path}: the list has items 0 to {len(node.items) - 1}")
        items = list(node.items)
        items[index] = _put(items[index], rest, value, place)
        return Listing(tuple(items), node.place)
    if isinstance(step, int):
        raise UsageError(f"{place.path}: there is no list at this key")
    entries = dict(node.entries) if isinstance(node, Table) else {}
    below = entries.get(step)
    inner = _put(below.node if below else None, rest, value, place)
    entries[step] = Entry(below.key_place if below and rest else place, inner)
    return Table(entries, node.place if isinstance(node, Table) else place)
