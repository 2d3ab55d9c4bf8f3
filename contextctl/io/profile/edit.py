"""Values put into a profile's file, as a patch that keeps everything else as it was written.

The edit is made on the text and then proved: the new text is read again, and a patch is offered
only when exactly those values changed. Otherwise the caller shows the values to set.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from contextctl.io.profile.patches import apply_command, created, difference
from contextctl.model.explanation import Edit
from contextctl.model.message import Json, JsonObject
from contextctl.model.profile import Profile, pointer_parts

_BOM = "\ufeff"
_PLAIN = re.compile(r"[A-Za-z_/][\w./@+-]*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})


def patch_for(profile: Profile, edits: Sequence[Edit]) -> str:
    """A patch of the profile's own file, or an empty text when none can be proved."""
    path = Path(profile.path)
    if not profile.path or not path.is_file():
        return ""
    try:
        before = path.read_bytes().decode("utf-8")
        after = edited_text(before, edits, quoted=path.suffix == ".json")
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return ""
    return difference(path, before, after) if after is not None else ""


def created_patch(path: str, text: str) -> str:
    """A patch that makes a new file below the working directory, under a name that is free."""
    return created(Path(path), text)


def applied_by(path: str) -> str:
    """The command that takes the patch of the file at ``path``."""
    return apply_command(Path(path))


def edited_text(text: str, edits: Sequence[Edit], *, quoted: bool = False) -> str | None:
    """``text`` with each value set; None when that cannot be done without touching others.

    ``quoted`` writes keys in quotation marks, as JSON has them.
    """
    mark = _BOM if text.startswith(_BOM) else ""
    now = text.removeprefix(_BOM)
    for edit in edits:
        keys = pointer_parts(edit.pointer)
        after = _Edit(now, keys, edit.value, quoted=quoted).made()
        if after is None or not _only_change(now, after, keys, edit.value):
            return None
        now = after
    return mark + now


def settings_yaml(edits: Sequence[Edit]) -> str:
    """The values as lines of block YAML."""
    tree: JsonObject = {}
    for edit in edits:
        here = tree
        *parents, last = pointer_parts(edit.pointer)
        for part in parents:
            below = here.setdefault(part, {})
            if not isinstance(below, dict):
                below = here[part] = {}
            here = below
        here[last] = edit.value
    return "".join(_block(tree, ""))


@dataclass(frozen=True, slots=True)
class _Edit:
    """One value to be written into a YAML text."""

    text: str
    keys: Sequence[str]
    value: Json
    quoted: bool

    def made(self) -> str | None:
        """The text with the value replaced where it stands, or put under its nearest parent."""
        node = yaml.compose(self.text, Loader=yaml.SafeLoader)
        depth, column = 0, 0
        while depth < len(self.keys) and isinstance(node, yaml.MappingNode):
            found = _child(node, self.keys[depth])
            if found is None:
                break
            column, node, depth = found[0].start_mark.column, found[1], depth + 1
        if isinstance(node, yaml.MappingNode) and depth < len(self.keys):
            return self._inserted(node, self.keys[depth:])
        if depth < len(self.keys):
            return self._below_nothing(node, self.keys[depth:], column)
        return self._replaced(node)

    def _replaced(self, node: yaml.Node | None) -> str | None:
        if node is None:
            return None
        if isinstance(node, (yaml.MappingNode, yaml.SequenceNode)) and not node.flow_style:
            return None
        start, stop = node.start_mark.index, node.end_mark.index
        space = " " if start == stop else ""
        return self.text[:start] + space + self._flow(self.value) + self.text[stop:]

    def _inserted(self, node: yaml.MappingNode, keys: Sequence[str]) -> str | None:
        if node.flow_style:
            at = node.end_mark.index - 1
            inner = self._flow(self.value)
            for key in reversed(keys[1:]):
                inner = f"{{{self._key(key)}: {inner}}}"
            comma = ", " if node.value else ""
            head = self.text[:at].rstrip()
            return f"{head}{comma}{self._key(keys[0])}: {inner}{self.text[at:]}"
        if not node.value:
            return None
        column = node.value[0][0].start_mark.column
        return self._lines_at(self._end_of(node), keys, column)

    def _below_nothing(
        self, node: yaml.Node | None, keys: Sequence[str], column: int
    ) -> str | None:
        """A key whose value is empty gets the value below it."""
        if not isinstance(node, yaml.ScalarNode) or node.value or node.style:
            return None
        return self._lines_at(node.start_mark.index, keys, column + 2)

    def _lines_at(self, at: int, keys: Sequence[str], column: int) -> str:
        """The value as lines of its own after the line that ends at or after ``at``."""
        end = self.text.find("\n", at)
        stop = len(self.text) if end < 0 else end + 1
        newline = "\r\n" if "\r\n" in self.text else "\n"
        head = self.text[:stop]
        pad = "" if not head or head.endswith("\n") else newline
        lines = [f"{' ' * (column + 2 * i)}{self._key(key)}:" for i, key in enumerate(keys)]
        lines[-1] += f" {self._flow(self.value)}"
        return head + pad + newline.join(lines) + newline + self.text[stop:]

    def _end_of(self, node: yaml.Node) -> int:
        """Where the last value below ``node`` ends: a block's own end lies behind its comments."""
        while isinstance(node, (yaml.MappingNode, yaml.SequenceNode)) and not node.flow_style:
            last = node.value[-1] if node.value else None
            if last is None:
                break
            node = last[1] if isinstance(last, tuple) else last
        end = node.end_mark.index
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            end = len(self.text[:end].rstrip())
        return end

    def _key(self, key: str) -> str:
        plain = _PLAIN.fullmatch(key) and key.lower() not in _WORDS
        return key if plain and not self.quoted else json.dumps(key, ensure_ascii=False)

    def _flow(self, value: Json) -> str:
        return json.dumps(value, ensure_ascii=False) if self.quoted else yaml_scalar(value)


def _child(node: yaml.MappingNode, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    return next(
        ((k, v) for k, v in node.value if isinstance(k, yaml.ScalarNode) and k.value == key), None
    )


def _only_change(before: str, after: str, keys: Sequence[str], value: Json) -> bool:
    old, new = _unshared(yaml.safe_load(before)), _unshared(yaml.safe_load(after))
    here = new
    for key in keys[:-1]:
        here = here.get(key) if isinstance(here, dict) else None
    if not isinstance(here, dict) or here.get(keys[-1]) != value:
        return False
    _remove(new, keys)
    _remove(old, keys)
    return bool(_pruned(old) == _pruned(new))


def _unshared(tree: Json) -> Json:
    """The same values with every alias written out: an edit of an anchor shows at each of them."""
    if isinstance(tree, dict):
        return {key: _unshared(item) for key, item in tree.items()}
    return [_unshared(item) for item in tree] if isinstance(tree, list) else tree


def _remove(tree: Json, keys: Sequence[str]) -> None:
    here = tree
    for key in keys[:-1]:
        here = here.get(key) if isinstance(here, dict) else None
    if isinstance(here, dict):
        here.pop(keys[-1], None)


def _pruned(tree: Json) -> Json:
    """Mappings without empty ones in them: an edit may have made parents."""
    if not isinstance(tree, dict):
        return tree
    kept = {key: _pruned(item) for key, item in tree.items()}
    return {key: item for key, item in kept.items() if item not in ({}, None)}


def _block(tree: JsonObject, indent: str) -> Sequence[str]:
    lines: list[str] = []
    for key, value in tree.items():
        name = yaml_scalar(key)
        if isinstance(value, dict) and value:
            lines += [f"{indent}{name}:\n", *_block(value, indent + "  ")]
        else:
            lines.append(f"{indent}{name}: {yaml_scalar(value)}\n")
    return lines


def yaml_scalar(value: Json) -> str:
    """A value in flow style that every YAML reader takes for the same."""
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
        return value if plain else json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ", ".join(yaml_scalar(item) for item in value) + "]"
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{yaml_scalar(k)}: {yaml_scalar(v)}" for k, v in value.items()) + "}"
        )
    return json.dumps(value)
