"""One value put into a profile's file, as a patch that keeps everything else as it was written.

The edit is made on the text and then proved: the new text is read again, and a patch is offered
only when exactly that value changed. Otherwise the caller shows the value to set.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

import yaml

from contextctl.model.message import Json
from contextctl.model.profile import Profile, pointer_parts


def patch_for(profile: Profile, pointer: str, value: Json) -> str:
    """A unified diff for the profile's own file, or an empty text when none can be proved."""
    path = Path(profile.path)
    if not profile.path or not path.is_file():
        return ""
    try:
        before = path.read_text(encoding="utf-8")
        edited = _edited(before, pointer_parts(pointer), value)
        if edited is None or not _only_change(before, edited, pointer_parts(pointer), value):
            return ""
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return ""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        edited.splitlines(keepends=True),
        f"a/{profile.path}",
        f"b/{profile.path}",
        n=1,
    )
    return "".join(lines)


def _edited(text: str, keys: Sequence[str], value: Json) -> str | None:
    """The text with the value replaced where it stands, or put under its nearest parent."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return None
    node: yaml.Node = root
    depth = 0
    while depth < len(keys) and isinstance(node, yaml.MappingNode):
        child = _child(node, keys[depth])
        if child is None:
            break
        node, depth = child, depth + 1
    if depth == len(keys):
        return text[: node.start_mark.index] + str(value) + text[node.end_mark.index :]
    if not isinstance(node, yaml.MappingNode):
        return None
    return _inserted(text, node, keys[depth:], value)


def _inserted(text: str, node: yaml.MappingNode, keys: Sequence[str], value: Json) -> str:
    if node.flow_style:
        at = node.end_mark.index - 1
        inner = str(value)
        for key in reversed(keys[1:]):
            inner = f"{{{key}: {inner}}}"
        comma = ", " if node.value else ""
        return f"{text[:at].rstrip()}{comma}{_key(keys[0])}: {inner}{text[at:]}"
    column = node.value[0][0].start_mark.column if node.value else 0
    last = node.value[-1][1].end_mark
    at = last.index
    end = text.rfind("\n", 0, at) + 1 if text[:at].endswith("\n") else text.find("\n", at) + 1
    end = end or len(text)
    pad = "" if text[:end].endswith("\n") or not end else "\n"
    lines = [f"{' ' * (column + 2 * i)}{_key(key)}:" for i, key in enumerate(keys)]
    lines[-1] += f" {value}"
    return text[:end] + pad + "\n".join(lines) + "\n" + text[end:]


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z_][\w-]*", key) else f'"{key}"'


def _child(node: yaml.MappingNode, key: str) -> yaml.Node | None:
    return next(
        (v for k, v in node.value if isinstance(k, yaml.ScalarNode) and k.value == key), None
    )


def _only_change(before: str, after: str, keys: Sequence[str], value: Json) -> bool:
    old, new = yaml.safe_load(before), yaml.safe_load(after)
    here = new
    for key in keys[:-1]:
        here = here[key]
    if here.get(keys[-1]) != value:
        return False
    _remove(new, keys)
    _remove(old, keys)
    return bool(_pruned(old) == _pruned(new))


def _remove(tree: dict[str, Json], keys: Sequence[str]) -> None:
    here: Json = tree
    for key in keys[:-1]:
        here = here.get(key) if isinstance(here, dict) else None
    if isinstance(here, dict):
        here.pop(keys[-1], None)


def _pruned(tree: Json) -> Json:
    """Mappings without empty mappings in them: an edit may have made parents."""
    if not isinstance(tree, dict):
        return tree
    kept = {key: _pruned(item) for key, item in tree.items()}
    return {key: item for key, item in kept.items() if item != {}}


def setting(pointer: str, value: Json) -> str:
    """The value as lines of YAML, for a profile that has no file to patch."""
    keys = pointer_parts(pointer)
    lines = [f"{'  ' * depth}{_key(key)}:" for depth, key in enumerate(keys)]
    return "\n".join(lines) + f" {value}\n"
