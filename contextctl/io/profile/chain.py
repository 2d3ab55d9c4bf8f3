"""A profile file and what it extends, merged into one tree whose every value knows its file.

Mappings merge, scalars and lists replace, null removes. Of several parents a later one wins over
an earlier one, and the file itself over all of them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from contextctl.errors import Problem, UsageError
from contextctl.io.profile.names import ProfileFile, find_profile
from contextctl.io.profile.yaml_nodes import Entry, Listing, Node, Place, Scalar, Table
from contextctl.io.profile.yaml_positions import Fault, YamlError, read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class Chain:
    """What was read so far. ``folders`` leads from a shown path to the folder of that file.

    ``incomplete`` says that a file could not be read or found: what is missing may stand there.
    """

    problems: list[Problem] = field(default_factory=list)
    folders: dict[str, Path] = field(default_factory=dict)
    done: dict[Path, Table] = field(default_factory=dict)
    incomplete: bool = False

    def read(self, file: ProfileFile, above: tuple[ProfileFile, ...] = ()) -> Table:
        """The merged tree of ``file``; problems are collected, what is unusable is left out."""
        real = file.path.resolve()
        if real in self.done:
            return self.done[real]
        self.folders[file.shown] = file.path.parent
        own = self._own(file)
        extends = own.entries.get("extends")
        rest = Table({k: e for k, e in own.entries.items() if k != "extends"}, own.place)
        tree = Table({}, own.place)
        if extends is not None:
            for parent in self._parents(extends, file, (*above, file)):
                tree = merged(tree, self.read(parent, (*above, file)))
        tree = merged(tree, rest)
        self.done[real] = tree
        return tree

    def _own(self, file: ProfileFile) -> Table:
        nothing = Table({}, Place(file.shown, 1, 1))
        try:
            document = read_yaml(file.path.read_bytes(), file.shown)
        except OSError as error:
            self.incomplete = True
            self._add(nothing.place, "", f"cannot be read: {error.strerror}")
            return nothing
        except YamlError as error:
            self.incomplete = True
            self._fault(error.fault)
            return nothing
        for fault in document.faults:
            self._fault(fault)
        if isinstance(document.root, Table):
            return document.root
        self.incomplete = True
        if document.root is None:
            self._add(nothing.place, "", "the file is empty", "start with 'version: 1'")
        else:
            self._add(document.root.place, "", "a profile must be a mapping of keys to values")
        return nothing

    def _parents(
        self, extends: Entry, file: ProfileFile, way: tuple[ProfileFile, ...]
    ) -> Iterator[ProfileFile]:
        """The files that ``extends`` names and that can be used."""
        node = extends.node
        for item in node.items if isinstance(node, Listing) else (node,):
            if not isinstance(item, Scalar) or not isinstance(item.value, str):
                if not (isinstance(item, Scalar) and item.value is None):
                    self._add(item.place, "extends", "must be a path or a list of paths")
                continue
            parent = _parent(item.value, file)
            if parent is None:
                self.incomplete = True
                self._add(item.place, "extends", *_missing(item.value, file.path.parent))
            elif parent.path.resolve() in {passed.path.resolve() for passed in way}:
                names = " -> ".join(passed.shown for passed in (*way, parent))
                self._add(item.place, "extends", f"extends itself: {names}", "break the circle")
            else:
                yield parent

    def _fault(self, fault: Fault) -> None:
        self._add(fault.place, dotted(fault.keys), fault.message, fault.suggestion)

    def _add(self, place: Place, key: str, message: str, suggestion: str = "") -> None:
        self.problems.append(
            Problem(place.path, place.line, place.column, key, message, suggestion)
        )


def merged(base: Table, over: Table) -> Table:
    """``base`` with the entries of ``over``: mappings merge, the rest replaces."""
    entries = dict(base.entries)
    for key, entry in over.entries.items():
        below = entries.get(key)
        node: Node = entry.node
        if below is not None and isinstance(node, Table) and isinstance(below.node, Table):
            node = merged(below.node, node)
        entries[key] = Entry(entry.key_place, node)
    return Table(entries, over.place)


def without_nulls(table: Table) -> tuple[Table, tuple[tuple[tuple[str, ...], Place], ...]]:
    """``table`` without the keys set to null, and the ways to these keys with their places."""
    entries: dict[str, Entry] = {}
    gone: list[tuple[tuple[str, ...], Place]] = []
    for key, entry in table.entries.items():
        if isinstance(entry.node, Scalar) and entry.node.value is None:
            gone.append(((key,), entry.key_place))
        elif isinstance(entry.node, Table):
            inner, inner_gone = without_nulls(entry.node)
            gone += [((key, *way), place) for way, place in inner_gone]
            entries[key] = Entry(entry.key_place, inner)
        else:
            entries[key] = entry
    return Table(entries, table.place), tuple(gone)


def dotted(keys: tuple[str | int, ...]) -> str:
    """``("prefix", 0, "id")`` as ``prefix[0].id``; a key with a dot in it is quoted."""
    out = ""
    for key in keys:
        if isinstance(key, int):
            out += f"[{key}]"
        else:
            shown = f'"{key}"' if "." in key or not key else key
            out += f".{shown}" if out else shown
    return out


def _parent(name: str, file: ProfileFile) -> ProfileFile | None:
    """The file meant by ``name``: relative to ``file``, or the shipped profile of that name."""
    path = file.path.parent / name
    if path.is_file():
        shown = os.path.normpath(os.path.join(os.path.dirname(file.shown), name))  # noqa: PTH118, PTH120  # the shown path is text, not a place on this disk
        return ProfileFile(path, Path(shown).as_posix())
    if "/" in name or "." in name:
        return None
    try:
        return find_profile(name, file.path.parent)
    except UsageError:
        return None


def _missing(name: str, folder: Path) -> tuple[str, str]:
    beside = (folder / name).parent
    names = [path.name for path in beside.glob("*.y*ml")]
    close = get_close_matches(Path(name).name, names, 1)
    hint = f"did you mean '{(Path(name).parent / close[0]).as_posix()}'?" if close else ""
    return f"'{name}' does not exist", hint
