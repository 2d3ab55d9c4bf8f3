"""YAML read so that every key and value knows its line and column.

PyYAML does the parsing; what it makes of scalars is replaced (``yaml_nodes``). Duplicate keys, keys
that are not text and unknown tags are faults, collected while reading goes on; broken syntax, alias
bombs and bottomless nesting end it. There is no recursion, so depth cannot exhaust the stack.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from contextctl.io.profile.yaml_nodes import (
    Entry,
    Listing,
    Node,
    Place,
    Scalar,
    ScalarValue,
    Table,
    core_value,
)

MAX_NODES = 100_000
MAX_DEPTH = 64
_TAG = "tag:yaml.org,2002:"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong at a place. ``keys`` lead to it from the root."""

    place: Place
    message: str
    suggestion: str = ""
    keys: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A whole file. ``root`` is None when it holds nothing but comments."""

    root: Node | None
    faults: tuple[Fault, ...] = ()


class YamlError(ValueError):
    """The text cannot be read as YAML; ``fault`` says where and why."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(f"{fault.place.line}:{fault.place.column}: {fault.message}")


def read_yaml(raw: bytes | str, path: str = "") -> Document:
    """Read one YAML document. ``path`` goes into every ``Place``. Raises ``YamlError``."""
    text = _decoded(raw, path) if isinstance(raw, bytes) else raw
    forbidden = _FORBIDDEN.search(text)
    if forbidden is not None:
        what = f"the control character U+{ord(forbidden.group()):04X} is not allowed"
        place = _position(text, forbidden.start(), path)
        raise YamlError(Fault(place, what, "remove it"))
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        return _Composer(path).document(loader)
    except yaml.MarkedYAMLError as error:
        raise YamlError(_syntax(text, error, path)) from None
    finally:
        loader.dispose()


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet. ``key`` waits for its value."""

    place: Place
    anchor: str | None
    is_table: bool
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    key: tuple[str, Place] | None = None
    awaits_key: bool = True
    size: int = 1
    height: int = 0


class _Composer:
    """Builds nodes from parser events, counting what aliases would expand to."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.faults: list[Fault] = []
        self.anchors: dict[str, tuple[Node, int, int]] = {}
        self.open: list[_Open] = []
        self.root: Node | None = None
        self.total = 0

    def document(self, loader: Any) -> Document:
        """Read events up to the end. A second document is an error."""
        documents = 0
        while loader.check_event():
            event = loader.get_event()
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._stop(event, "a second document starts here; one is expected")
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                self._begin(event)
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                self._end()
        return Document(self.root, tuple(self.faults))

    def _begin(self, event: Any) -> None:
        is_table = isinstance(event, yaml.MappingStartEvent)
        if len(self.open) >= MAX_DEPTH:
            raise self._stop(event, f"nested deeper than {MAX_DEPTH} levels")
        if event.tag not in (None, "!", _TAG + ("map" if is_table else "seq")):
            self._fault(event, f"the tag '{_short(event.tag)}' is not supported")
        self.open.append(_Open(self._place(event), event.anchor, is_table))

    def _end(self) -> None:
        done = self.open.pop()
        node: Node = (
            Table(done.entries, done.place)
            if done.is_table
            else Listing(tuple(done.items), done.place)
        )
        self._attach(node, done.place, done.anchor, done.size, done.height)

    def _scalar(self, event: Any) -> None:
        place = self._place(event)
        plain_style = bool(event.implicit[0]) and event.style in (None, "")
        value: ScalarValue = event.value
        try:
            if plain_style:
                value = core_value(event.value)
            elif event.tag not in (None, "!", _TAG + "str"):
                value = self._tagged(event)
        except ValueError:
            self._fault(event, f"the number '{event.value[:20]}…' is too long", "quote it as text")
        node = Scalar(value, place, event.value, plain_style)
        self._attach(node, place, event.anchor, 1, 0)

    def _tagged(self, event: Any) -> ScalarValue:
        value = core_value(event.value)
        wanted: dict[str, tuple[type, ...]] = {
            "int": (int,),
            "float": (int, float),
            "bool": (bool,),
            "null": (type(None),),
        }
        kind = wanted.get(event.tag.removeprefix(_TAG)) if event.tag.startswith(_TAG) else None
        if kind is None:
            self._fault(event, f"the tag '{_short(event.tag)}' is not supported")
            return str(event.value)
        if not isinstance(value, kind) or (bool not in kind and isinstance(value, bool)):
            self._fault(event, f"'{event.value}' is not of the tag '{_short(event.tag)}'")
        return value

    def _alias(self, event: Any) -> None:
        known = self.anchors.get(event.anchor)
        if known is None:
            inside = any(opened.anchor == event.anchor for opened in self.open)
            why = "refers to the value it stands in" if inside else "was not defined before"
            raise self._stop(event, f"the alias '*{event.anchor}' {why}")
        node, size, height = known
        if len(self.open) + height > MAX_DEPTH:
            raise self._stop(event, f"nested deeper than {MAX_DEPTH} levels")
        self._attach(node, self._place(event), None, size, height)

    def _attach(self, node: Node, place: Place, anchor: str | None, size: int, height: int) -> None:
        """Put a finished node where it belongs, as a key, a value, an item or the root."""
        if anchor is not None:
            self.anchors[anchor] = (node, size, height)
        if not self.open:
            self.root = node
            return
        parent = self.open[-1]
        parent.size += size
        parent.height = max(parent.height, height + 1)
        if parent.size > MAX_NODES:
            fault = Fault(place, f"more than {MAX_NODES:,} values once aliases are expanded")
            raise YamlError(fault)
        if not parent.is_table:
            parent.items.append(node)
        elif parent.awaits_key:
            parent.key = self._key(node, place, parent)
            parent.awaits_key = False
        else:
            if parent.key is not None:
                key, key_place = parent.key
                parent.entries[key] = Entry(key_place, node)
            parent.awaits_key = True

    def _key(self, node: Node, place: Place, parent: _Open) -> tuple[str, Place] | None:
        """The text of a key; None (its value is then dropped) when it is no usable key."""
        if not isinstance(node, Scalar):
            self._add(place, "a key must be text, not a list or a mapping", "quote it")
            return None
        if not isinstance(node.value, str):
            what = "empty" if node.text == "" else f"'{node.text}', which YAML reads as a value"
            self._add(place, f"a key must be text, this one is {what}", f'write "{node.text}"')
            return None
        earlier = parent.entries.get(node.value)
        if earlier is not None:
            line = earlier.key_place.line
            self._add(
                place, f"duplicate key '{node.value}', first at line {line}", "keep one", node.value
            )
            return None
        return node.value, place

    def _add(
        self, place: Place, message: str, suggestion: str = "", key: str | None = None
    ) -> None:
        self.faults.append(Fault(place, message, suggestion, self._keys(key)))

    def _fault(self, event: Any, message: str, suggestion: str = "") -> None:
        self._add(self._place(event), message, suggestion)

    def _stop(self, event: Any, message: str) -> YamlError:
        # Deep in a file that nests without end, the whole way there would help nobody.
        return YamlError(Fault(self._place(event), message, keys=self._keys(None)[:5]))

    def _keys(self, last: str | None) -> tuple[str | int, ...]:
        """The way from the root to where reading stands."""
        way: list[str | int] = []
        for opened in self.open:
            if not opened.is_table:
                way.append(len(opened.items))
            elif not opened.awaits_key and opened.key is not None:
                way.append(opened.key[0])
        return (*way, last) if last is not None else tuple(way)

    def _place(self, event: Any) -> Place:
        return Place(self.path, event.start_mark.line + 1, event.start_mark.column + 1)


def _decoded(raw: bytes, path: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        what = (
            "UTF-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else f"byte 0x{raw[error.start]:02x}"
        )
        place = _position(before, len(before), path)
        fault = Fault(place, f"the file is not UTF-8 ({what})", "save it as UTF-8")
        raise YamlError(fault) from None


def _syntax(text: str, error: yaml.MarkedYAMLError, path: str) -> Fault:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    lines = text.splitlines()
    here = lines[line][: column + 1] if line < len(lines) else ""
    if "\t" in here and not here.replace("\t", "").strip(" -:"):
        return Fault(
            Place(path, line + 1, here.index("\t") + 1), "a tab cannot indent", "use spaces"
        )
    problem = error.problem or "broken YAML"
    context = f" ({error.context})" if error.context else ""
    if error.context and error.context_mark and error.context_mark.line != line:
        context = f" ({error.context} that starts at line {error.context_mark.line + 1})"
    braces = "${" in (lines[line] if line < len(lines) else "")
    hint = "inside { } and [ ] a value with ${…} needs quotes" if braces else ""
    return Fault(Place(path, line + 1, column + 1), f"{problem}{context}", hint)


def _position(text: str, index: int, path: str) -> Place:
    before = text[:index]
    line = before.count("\n")
    return Place(path, line + 1, index - (before.rfind("\n") + 1) + 1)


def _short(tag: str) -> str:
    return "!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag
