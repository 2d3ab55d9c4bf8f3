"""Files of one JSON object a line: appended, never rewritten, and safe to be killed over.

A process killed while it writes leaves at most one torn line, at the end: cut inside a character,
without its newline, or filled with NULs after a power cut. Reading tolerates that; opening the
file to append repairs it first (a whole line gets its newline, a fragment is set aside in
``<file>.torn``), so that the next line never lands on a fragment.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from contextctl.errors import RecordError, StoreError
from contextctl.io.text.files import sync_folder
from contextctl.model.message import JsonObject

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from contextctl.model.message import Json

_SURROGATE = re.compile("[\ud800-\udfff]")
_TAIL = 1 << 16


@dataclass(frozen=True, slots=True)
class Line:
    """One object and the number of its line, from 1."""

    number: int
    value: JsonObject


@dataclass(frozen=True, slots=True)
class BrokenLine:
    """A line that is no JSON object: its number, what is wrong, and whether it is the torn last."""

    number: int
    reason: str
    torn: bool = False


@dataclass(frozen=True, slots=True)
class JsonLines:
    """What a file holds: good lines and broken ones, both in order."""

    path: Path
    lines: tuple[Line, ...] = ()
    broken: tuple[BrokenLine, ...] = ()

    @property
    def values(self) -> tuple[JsonObject, ...]:
        """The objects alone."""
        return tuple(line.value for line in self.lines)

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for a person per broken line, with file and line number."""
        return tuple(
            f"{self.path}:{bad.number}: "
            + (f"torn last line, ignored ({bad.reason})" if bad.torn else f"not used: {bad.reason}")
            for bad in self.broken
        )


def json_text(value: Mapping[str, Json]) -> str:
    """``value`` as one line of JSON. Half surrogate pairs are escaped, so that UTF-8 holds it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def read_jsonl(path: Path) -> JsonLines:
    """Read every line of ``path``; a missing file is an empty one.

    Raises ``RecordError`` when the file cannot be read at all.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return JsonLines(path)
    except OSError as error:
        raise RecordError(f"cannot read '{path}': {error.strerror or error}") from error
    lines: list[Line] = []
    broken: list[BrokenLine] = []
    chunks = data.split(b"\n")
    for number, chunk in enumerate(chunks, 1):
        if not chunk.strip():
            continue
        try:
            lines.append(Line(number, _object(chunk)))
        except ValueError as error:
            broken.append(BrokenLine(number, str(error), torn=number == len(chunks)))
    return JsonLines(path, tuple(lines), tuple(broken))


class JsonlWriter:
    """An open file that lines are appended to by one process only.

    Opening takes a lock that ends with the process, however it ends, and repairs a torn last line;
    ``repaired`` says what was done. Lines of one ``append`` are written in one piece; with ``sync``
    they are on the disk when it returns, else they survive a killed process but not a power cut.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not path.exists()
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise StoreError(f"cannot write '{path}': {error.strerror or error}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise RecordError(
                f"'{path}' is being written by another process; "
                "wait for it to end, or choose another --out"
            ) from error
        self.repaired = _repair(path)
        if is_new:
            sync_folder(path.parent)

    def append(self, values: Iterable[Mapping[str, Json]], *, sync: bool = False) -> None:
        """Append one line per value: all of them or, with ``StoreError``, none."""
        data = "".join(json_text(value) + "\n" for value in values).encode("utf-8")
        if not data and not sync:
            return
        size = os.fstat(self._file.fileno()).st_size
        try:
            view = memoryview(data)
            while view:
                view = view[self._file.write(view) :]
            if sync:
                os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(size)
            raise StoreError(f"cannot write '{self.path}': {error.strerror or error}") from error

    def close(self) -> None:
        """Close the file and give up the lock; closing twice is harmless."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def append_line(path: Path, value: Mapping[str, Json], *, sync: bool = False) -> str:
    """Append one line to a file nobody holds open; what had to be repaired, or an empty text."""
    with JsonlWriter(path) as writer:
        writer.append((value,), sync=sync)
        return writer.repaired


def _object(chunk: bytes) -> JsonObject:
    try:
        value = json.loads(chunk.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("not usable JSON: nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError(f"a JSON {type(value).__name__} where an object is expected")
    return value


def _repair(path: Path) -> str:
    """Make the file end with a newline, and say what was done."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        start, tail = size, b""
        while start > 0 and b"\n" not in tail:
            step = min(_TAIL, start)
            start = file.seek(start - step)
            tail = file.read(step) + tail
        begin = tail.rfind(b"\n") + 1
        fragment = tail[begin:]
        if not fragment:
            return ""
        try:
            _object(fragment)
        except ValueError as error:
            aside = path.with_name(f"{path.name}.torn")
            with aside.open("ab") as kept:
                kept.write(fragment + b"\n")
            file.truncate(start + begin)
            return f"{path}: a torn last line was cut off ({error}); kept in '{aside.name}'"
        file.seek(0, os.SEEK_END)
        file.write(b"\n")
        return f"{path}: the last line had no newline; it was complete and is kept"
