"""A trace file as JSON values with their lines, read tolerantly.

Real logs are torn: a process died while writing, two writers met, an editor added a byte-order
mark. What can be read is read; what was skipped or guessed is a warning that names file:line.
"""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from contextctl.errors import UsageError
from contextctl.model.message import Json

if TYPE_CHECKING:
    from collections.abc import Iterator

_GZIP_MAGIC = b"\x1f\x8b"
_HEAD_VALUES = 25
_MAX_WARNINGS = 20
_DECODER = json.JSONDecoder()


@dataclass(slots=True)
class Source:
    """A trace file. ``head`` holds its first JSON values (empty when it is not JSON).

    ``lines`` is True when the file is JSON Lines: many values, of which ``head`` is the start.
    ``text`` is its first characters, for formats that are not JSON.
    """

    path: Path
    head: tuple[Json, ...] = ()
    lines: bool = False
    text: str = ""
    warnings: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The file's name without folder, ``.gz`` and one more suffix: the default trace id."""
        name = self.path.name.removesuffix(".gz")
        return Path(name).stem or name

    def warn(self, line: int, message: str) -> None:
        """Remember what was guessed at a line (from 1); past twenty, only that there was more."""
        if len(self.warnings) < _MAX_WARNINGS:
            self.warnings.append(f"{self.path}:{line}: {message}")
        elif len(self.warnings) == _MAX_WARNINGS:
            self.warnings.append(f"{self.path}: more warnings of this kind were left out")

    def values(self) -> Iterator[tuple[int, Json]]:
        """Every JSON value of the file with the line it starts on. Memory: one line at a time."""
        if not self.lines:
            yield from ((1, value) for value in self.head)
            return
        with _open_text(self.path) as stream:
            for number, line in enumerate(stream, 1):
                yield from ((number, value) for value in self._line_values(number, line))

    def read_text(self) -> str:
        """The whole file as text with ``\\n`` line ends."""
        with _open_text(self.path) as stream:
            return stream.read()

    def _line_values(self, number: int, line: str) -> Iterator[Json]:
        if "\x00" in line:
            line = line.replace("\x00", "")
            self.warn(number, "NUL bytes were dropped")
        text = line.strip()
        at, count = 0, 0
        while at < len(text):
            try:
                value, end = _DECODER.raw_decode(text, at)
            except (ValueError, RecursionError) as error:
                self.warn(number, _broken(error, text[at:], count))
                return
            count += 1
            if count == 2:
                self.warn(number, "several JSON values stand on one line; all were read")
            yield _without_surrogates(value, text, self, number)
            at = end
            while at < len(text) and text[at] in " \t\r,":
                at += 1


def open_source(path: str | Path) -> Source:
    """Look at a trace file. Raises ``UsageError`` when it is missing, empty or unreadable."""
    source = Source(Path(path))
    if source.path.is_dir():
        raise UsageError(f"'{path}' is a folder; name the trace files in it")
    try:
        _look(source)
    except FileNotFoundError:
        raise UsageError(f"no trace file '{path}'; check the path") from None
    except (OSError, EOFError, UnicodeError, zlib.error) as error:
        raise UsageError(f"cannot read the trace file '{path}': {error}") from None
    if not source.text.strip("\x00 \t\r\n"):
        raise UsageError(f"the trace file '{path}' is empty")
    if source.lines:
        source.warnings.clear()  # they come again when the lines are read
    return source


def _look(source: Source) -> None:
    with _open_text(source.path) as stream:
        first = stream.readline()
        source.text = first[:4096]
        while first and not first.strip("\x00 \t\r\n"):
            first = stream.readline()
        source.text += first[:4096] + stream.read(4096)
    if _is_one_value(first) or not first.lstrip("\x00 ").startswith(("{", "[", '"')):
        source.lines = True
        source.head = tuple(islice((value for _, value in source.values()), _HEAD_VALUES))
        return
    text = source.read_text().replace("\x00", "")
    try:
        source.head = (_without_surrogates(json.loads(text), text, source, 1),)
    except (ValueError, RecursionError):
        # Not one document either: perhaps JSON Lines whose first line is torn.
        source.lines = True
        source.head = tuple(islice((value for _, value in source.values()), _HEAD_VALUES))


def _is_one_value(line: str) -> bool:
    text = line.replace("\x00", "").strip()
    try:
        _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def _open_text(path: Path) -> TextIO:
    with path.open("rb") as raw:
        magic = raw.read(4)
    if magic.startswith(_GZIP_MAGIC):
        return gzip.open(path, "rt", encoding="utf-8-sig", errors="replace")
    utf16 = magic.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return path.open(encoding="utf-16" if utf16 else "utf-8-sig", errors="replace")


def _broken(error: Exception, rest: str, before: int) -> str:
    kept = f"; the {before} before it kept" if before else ""
    what = "nested too deeply" if isinstance(error, RecursionError) else "not JSON (torn write?)"
    return f"skipped {len(rest):,} characters that are {what}{kept}: {rest[:40]!r}"


def _without_surrogates(value: Json, text: str, source: Source, number: int) -> Json:
    """Half of a surrogate pair cannot be written as UTF-8: it becomes U+FFFD, with a warning."""
    if "\\ud" not in text and "\\uD" not in text:
        return value
    dumped = json.dumps(value, ensure_ascii=False)
    try:
        dumped.encode("utf-8")
    except UnicodeEncodeError:
        source.warn(number, "halves of surrogate pairs were replaced by U+FFFD")
        value = json.loads(dumped.encode("utf-8", "replace").decode("utf-8"))
    return value
