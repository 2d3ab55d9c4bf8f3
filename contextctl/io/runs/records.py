"""The record of a task on disk: ``record.jsonl``, one event a line, appended and never edited.

What is on the disk when: every ``append`` is handed to the system at once, so a killed process
loses nothing it was told is written. A ``CallStarted`` is also forced onto the disk (fsync) before
``append`` returns, because the call that follows may have effects outside: after a power cut it
must show as uncertain, not as never started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from contextctl.errors import RecordError
from contextctl.io.text.jsonl import JsonlWriter, read_jsonl
from contextctl.model.record import CallStarted, Event, Record
from contextctl.model.record_json import event_from_json, event_to_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType


class RecordWriter:
    """Appends the events of one task. One process holds a record; a second gets ``RecordError``.

    ``repaired`` says what was done about a torn last line, or is empty.
    """

    def __init__(self, path: Path) -> None:
        self._lines = JsonlWriter(path)
        self.repaired = self._lines.repaired

    def append(self, events: Sequence[Event], *, sync: bool = False) -> None:
        """Append ``events``, all or none. Raises ``StoreError`` when the disk refuses."""
        must_sync = sync or any(isinstance(event, CallStarted) for event in events)
        self._lines.append(map(event_to_json, events), sync=must_sync)

    def close(self) -> None:
        """Give up the record, so that another process may continue it."""
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_record(path: Path) -> tuple[Record, tuple[str, ...]]:
    """The events of a record and warnings about what was tolerated (a torn last line).

    A missing file is an empty record. A broken line anywhere else raises ``RecordError`` with its
    number: windows depend on every fact, so none may be skipped.
    """
    lines = read_jsonl(path)
    for broken in lines.broken:
        if not broken.torn:
            raise RecordError(
                f"{path}:{broken.number}: {broken.reason}; a record cannot be read past a broken "
                "line: restore the line, or move the file away and run the task again"
            )
    events: list[Event] = []
    for line in lines.lines:
        try:
            events.append(event_from_json(line.value))
        except ValueError as error:
            raise RecordError(f"{path}:{line.number}: {error}") from None
    return tuple(events), lines.warnings
