"""What an earlier run left of a task: a record to go on from, or one to put aside."""

from __future__ import annotations

from pathlib import Path

from contextctl.io.files import write_atomic
from contextctl.io.jsonl import json_text
from contextctl.io.records import read_record
from contextctl.io.run_folder import TaskFolder
from contextctl.model.message import JsonObject
from contextctl.model.record import CallStarted, MessageAdded, Opened, Record
from contextctl.model.task import Task
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
    if given_digest(record) != task.digest:
        return _put_aside(folder, "the task has changed since it was last run")
    if anew and _is_answered(record) and not any(isinstance(e, CallStarted) for e in record):
        return _put_aside(folder, "its answer was not what it expects")
    return record, remark


def mend_reports(live: Live) -> None:
    """Make ledger and windows agree with the record: one line for each step that was answered.

    A crash leaves them one line short; a step that failed and is taken again had a line too many.
    """
    assembly = live.finished[1] if live.finished is not None else None
    last = live.finished[0].step if live.finished is not None else 0
    ledger = [line for line in live.folder.read_ledger().values if _stands(line, last)]
    windows = [line for line in live.folder.read_windows().values if _stands(line, last)]
    if live.finished is not None and not _holds(ledger, last):
        ledger.append(live.finished[0].to_json())
    if assembly is not None and live.setting.windows and not _holds(windows, last):
        window: JsonObject = {"task": live.task.id, "step": last}
        window |= {"messages": [*assembly.messages], "tools": [*assembly.tools]}
        windows.append(window)
    _rewrite(live.folder.ledger, ledger)
    _rewrite(live.folder.windows, windows)


def _stands(line: JsonObject, last: int) -> bool:
    step = line.get("step")
    return isinstance(step, int) and step <= last and line.get("status", "ok") == "ok"


def _holds(lines: list[JsonObject], step: int) -> bool:
    return any(line.get("step") == step for line in lines)


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
