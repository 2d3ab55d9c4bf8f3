"""``${VAR}`` and ``${VAR:-default}`` in a profile's values; ``$${`` is a literal ``${``.

The value goes into the effective profile only. What was written is kept beside it, so that saved
and printed profiles show ``${VAR}``. Where the key takes a number or a truth value, the filled-in
text is read as one: ``window: ${WINDOW:-8192}`` is a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from contextctl.errors import Problem
from contextctl.io.profile.chain import dotted
from contextctl.io.profile.schema_lookup import schema_at, types_of
from contextctl.io.profile.yaml_nodes import (
    Entry,
    Listing,
    Node,
    Scalar,
    ScalarValue,
    Table,
    core_value,
)
from contextctl.model.message import JsonObject
from contextctl.model.profile import pointer_to

_VARIABLE = re.compile(
    r"(?P<escape>\$\$\{)|\$\{(?:(?P<name>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\})?", re.ASCII
)


@dataclass(slots=True)
class Variables:
    """Fills in variables. ``raw`` maps JSON pointers to what was written there.

    ``secrets`` are the values that came from the environment, by name. With ``keep_unset`` a
    variable that is not set keeps its written text, and is no value at all for a number.
    """

    environment: Mapping[str, str]
    schema: JsonObject
    problems: list[Problem] = field(default_factory=list)
    raw: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    keep_unset: bool = False

    def filled(self, node: Node, way: tuple[str | int, ...] = ()) -> Node:
        """``node`` with every variable in its values replaced. Keys are left as they are."""
        if isinstance(node, Table):
            entries = {
                key: Entry(entry.key_place, self.filled(entry.node, (*way, key)))
                for key, entry in node.entries.items()
            }
            return Table(entries, node.place)
        if isinstance(node, Listing):
            items = tuple(self.filled(item, (*way, i)) for i, item in enumerate(node.items))
            return Listing(items, node.place)
        if not isinstance(node.value, str) or "${" not in node.value:
            return node
        self.raw[pointer_to(way)] = node.value
        return Scalar(self._typed(self._text(node, way), node, way), node.place, node.text)

    def _text(self, node: Scalar, way: tuple[str | int, ...]) -> str:
        return _VARIABLE.sub(lambda found: self._one(found, node, way), str(node.value))

    def _one(self, found: re.Match[str], node: Scalar, way: tuple[str | int, ...]) -> str:
        if found["escape"]:
            return "${"
        name, default = found["name"], found["default"]
        if not name:
            self._add(node, way, "'${' opens no variable", "write ${NAME}, or $${ for a plain ${")
            return ""
        value = self.environment.get(name)
        if value is None or (value == "" and default is not None):
            if default is None and self.keep_unset:
                return found.group()
            if default is None:
                hint = f"set it, or give a default: ${{{name}:-…}}"
                self._add(node, way, f"the environment variable '{name}' is not set", hint)
            return default or ""
        if value:
            self.secrets[name] = value
        return value

    def _typed(self, text: str, node: Scalar, way: tuple[str | int, ...]) -> ScalarValue:
        """``text``, or the number or truth value it spells where the key takes one.

        Where the key takes anything, quotes decide, as always in YAML.
        """
        kinds = types_of(schema_at(self.schema, way))
        if self.keep_unset and kinds and "string" not in kinds and "${" in text:
            return None
        if kinds == {"string"} or (not kinds and not node.plain):
            return text if text or not node.plain else None
        try:
            value = core_value(text)
        except ValueError:  # more digits than a number may have
            return text
        return value if not kinds or _json_type(value) & kinds or value is None else text

    def _add(self, node: Scalar, way: tuple[str | int, ...], message: str, hint: str) -> None:
        place = node.place
        self.problems.append(
            Problem(place.path, place.line, place.column, dotted(way), message, hint)
        )


def _json_type(value: ScalarValue) -> set[str]:
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, int):
        return {"integer", "number"}
    return {"number"} if isinstance(value, float) else {"string"}
