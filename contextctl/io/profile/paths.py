"""The files and folders a profile names: made absolute, checked, and read where text is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from contextctl.errors import Problem
from contextctl.io.profile.problems import Places, Way
from contextctl.model.message import Json, JsonObject
from contextctl.model.profile import pointer_to

_HF = "hf:"


@dataclass(slots=True)
class NamedPaths:
    """``raw`` maps JSON pointers to paths as they were written, relative to their file."""

    places: Places
    folders: Mapping[str, Path]
    raw: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def resolve(self, mapping: JsonObject) -> None:
        """Replace every path in ``mapping`` by an absolute one and fill in layers' texts."""
        for way, holder, key in _path_keys(mapping):
            value = holder[key]  # type: ignore[index]  # the key was just seen there
            if not isinstance(value, str):
                continue
            path = self._absolute(way, value)
            if way == ("tokenizer",):
                path = self._absolute(way, value.removeprefix(_HF))
            if path is None:
                continue
            self._check(way, path, value.removeprefix(_HF))
            text = str(path) if way != ("tokenizer",) else f"{_HF}{path}"
            if text != value:
                self.raw.setdefault(pointer_to(way), value)
            holder[key] = text  # type: ignore[index]  # as above
            if way[0] == "prefix" and isinstance(holder, dict):
                holder["text"] = self._layer_text(way, path)

    def _absolute(self, way: Way, value: str) -> Path | None:
        """The path from the folder of the file that names it; None for an address."""
        if "://" in value:
            return None
        folder = self.folders.get(self.places.at(way).path, Path())
        return (folder / Path(value).expanduser()).absolute()

    def _check(self, way: Way, path: Path, written: str) -> None:
        wants_folder = way[0] in ("disclosure", "workspace")
        if way[0] == "workspace":
            if path.exists() and not path.is_dir():
                self._add(way, f"'{written}' is not a folder")
        elif wants_folder and not path.is_dir():
            self._add(way, f"the folder '{written}' does not exist")
        elif not wants_folder and not path.is_file():
            self._add(way, f"the file '{written}' does not exist")

    def _layer_text(self, way: Way, path: Path) -> str:
        try:
            return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            at = f"byte 0x{error.object[error.start]:02x} at {error.start}"
            self._add(way, f"'{path.name}' is not UTF-8 ({at})", "save it as UTF-8")
        except OSError as error:
            if path.is_file():
                self._add(way, f"'{path.name}' cannot be read: {error.strerror}")
        return ""

    def _add(self, way: Way, message: str, suggestion: str = "") -> None:
        self.problems.append(self.places.problem(way, message, suggestion))


def _path_keys(mapping: JsonObject) -> Iterator[tuple[Way, Json, str | int]]:
    """Each path in a profile: the way to it, what holds it, and its key there."""
    tokenizer = mapping.get("tokenizer")
    if isinstance(tokenizer, str) and tokenizer.startswith(_HF):
        yield ("tokenizer",), mapping, "tokenizer"
    for i, layer in enumerate(_list(mapping.get("prefix"))):
        if isinstance(layer, dict) and "file" in layer:
            yield ("prefix", i, "file"), layer, "file"
    disclosure = _dict(mapping.get("disclosure"))
    skills = _list(disclosure.get("skills"))
    for i in range(len(skills)):
        yield ("disclosure", "skills", i), skills, i
    for section, holder, key in (
        (("disclosure", "knowledge"), disclosure.get("knowledge"), "path"),
        (("subagents",), mapping.get("subagents"), "profile"),
    ):
        for name, inner in _dict(holder).items():
            if isinstance(inner, dict) and key in inner:
                yield (*section, name, key), inner, key
    workspace = _dict(mapping.get("workspace"))
    if "path" in workspace:
        yield ("workspace", "path"), workspace, "path"


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _dict(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
