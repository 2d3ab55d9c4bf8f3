"""What an earlier run left of a task: a record to go on from, or one to put aside."""

from __future__ import annotations

from pathlib import Path

from contextctl.io.runs.folder import TaskFolder
from contextctl.io.runs.records import read_record
from contextctl.io.text.files import write_atomic
from contextctl.io.text.jsonl import JsonLines, json_text
from contextctl.model.assembly import Assembly
from contextctl.model.ledger import LedgerReport
from contextctl.model.message import JsonObject
from contextctl.model.record import (
    CallStarted,
    Event,
    MessageAdded,
    Opened,
    Record,
    ResultArrived,
    StepTaken,
)
from contextctl.model.record_json import event_to_json
from contextctl.model.task import Task
from contextctl.run.journal import window_line
from contextctl.run.live import Live
from contextctl.run.opening import given_digest


def past_record(task: Task, folder: TaskFolder, *, anew: bool) -> tuple[Record, str]:
    """The record to go on from (empty: begin), and a remark about one that was put aside.

    A record is put aside when its task has changed since, and, with ``anew``, when it ended in an
    answer and none of its calls can have had effects.
    """
    record, warnings = read_record(folder.record)
    if not record:
        return (), ""
    remark = warnings[0] if warnings else ""
    if not isinstance(record[0], Opened):
        return _put_aside(folder, "its record does not begin as one")
    if not any(isinstance(event, StepTaken) for event in record):
        return _put_aside(folder, "it was cut off before its first step")
    if given_digest(record) != task.digest:
        return _put_aside(folder, "the task has changed since it was last run")
    if anew and _is_answered(record) and not any(isinstance(e, CallStarted) for e in record):
        return _put_aside(folder, "its answer was not what it expects")
    return record, remark


def missing_pins(live: Live, record: Record) -> tuple[Event, ...]:
    """The facts after the last result that a crash left unwritten: the record ends within them."""
    for place in range(len(record) - 1, -1, -1):
        event = record[place]
        if isinstance(event, ResultArrived):
            whole, written = live.pinned(event), record[place:]
            as_expected = [*map(event_to_json, whole[: len(written)])]
            return whole[len(written) :] if as_expected == [*map(event_to_json, written)] else ()
        if isinstance(event, (MessageAdded, StepTaken)):
            break
    return ()


def catch_up(live: Live, record: Record) -> None:
    """Take in a record that was read from the disk, each step under the model that it names.

    Ledger and windows are made to agree with it: one line for each step that was answered. A crash
    leaves them short, and a step that failed and is taken again had a line too many.
    """
    reports = _Reports(live)
    for place, event in enumerate(record):
        if isinstance(event, StepTaken):
            reports.add(live.finished)
            live.use(event.model or live.profile.model.name, record[:place])
        live.absorb(event)
    reports.add(live.finished)
    reports.write()


class _Reports:
    """The lines of a task's ledger and windows by step: those on the disk, and those that lack."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._last = 0
        self._ledger = _by_step(live.folder.read_ledger())
        self._windows = _by_step(live.folder.read_windows())

    def add(self, finished: tuple[LedgerReport, Assembly] | None) -> None:
        """A step that was answered must have its lines."""
        if finished is None:
            return
        ledger, assembly = finished
        self._last = ledger.step
        self._ledger.setdefault(ledger.step, ledger.to_json())
        if self._live.setting.windows and ledger.step not in self._windows:
            secrets = self._live.setting.profile.secrets.values()
            self._windows[ledger.step] = window_line(self._live.task.id, assembly, secrets)

    def write(self) -> None:
        """Write what has changed."""
        _rewrite(self._live.folder.ledger, self._up_to_last(self._ledger))
        _rewrite(self._live.folder.windows, self._up_to_last(self._windows))

    def _up_to_last(self, lines: dict[int, JsonObject]) -> list[JsonObject]:
        return [line for step, line in sorted(lines.items()) if step <= self._last]


def _by_step(lines: JsonLines) -> dict[int, JsonObject]:
    return {
        step: line
        for line in lines.values
        if isinstance(step := line.get("step"), int) and line.get("status", "ok") == "ok"
    }


def _rewrite(path: Path, lines: list[JsonObject]) -> None:
    data = "".join(json_text(line) + "\n" for line in lines).encode("utf-8")
    old = path.read_bytes() if path.exists() else b""
    if old != data:
        write_atomic(path, data)


def _is_answered(record: Record) -> bool:
    for event in reversed(record):
        if isinstance(event, MessageAdded):
            return event.message.role == "assistant" and not event.message.tool_calls
    return False


def _put_aside(folder: TaskFolder, why: str) -> tuple[Record, str]:
    """Nothing is deleted: the record gets a name that no command reads."""
    count = 1
    while (aside := folder.path / f"record.{count}.old.jsonl").exists():
        count += 1
    folder.record.rename(aside)
    for path in (folder.ledger, folder.windows, folder.path / "early.jsonl"):
        path.unlink(missing_ok=True)
    return (), f"begun anew, because {why}; the old record is '{aside.name}'"
