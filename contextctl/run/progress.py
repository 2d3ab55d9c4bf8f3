"""The progress of a run's tasks, read from their records without touching them."""

from __future__ import annotations

from contextctl.core.fold.tasks import current_item, ledger_of, progress
from contextctl.errors import UsageError
from contextctl.io.runs.folder import RunFolder, TaskFolder
from contextctl.io.runs.lock import is_held
from contextctl.io.runs.records import read_record
from contextctl.model.message import JsonObject
from contextctl.model.progress import TaskProgress
from contextctl.model.record import (
    BriefMade,
    CallStarted,
    Opened,
    Record,
    ResultArrived,
    StepTaken,
)


def run_progress(folder: RunFolder) -> tuple[TaskProgress, ...]:
    """Every task of a run that was begun, by name."""
    results = {str(value.get("id")): value for value in folder.read_results().values}
    running = is_held(folder.path)
    return tuple(_task(one, results, running=running) for one in folder.tasks())


def task_progress(folder: RunFolder, task: str | None) -> TaskProgress:
    """One task of a run; without a name the only one, or the first that is not ended.

    Raises ``UsageError`` that names the tasks there are.
    """
    found = run_progress(folder)
    named = [one for one in found if task in (None, one.task)]
    if not named:
        have = ", ".join(f"'{one.task}'" for one in found[:8]) or "none"
        raise UsageError(f"no task '{task}' in '{folder.path}'; it has: {have}")
    return next((one for one in named if one.status in ("running", "unfinished")), named[0])


def task_steps(folder: RunFolder, task: str | None) -> tuple[JsonObject, ...]:
    """The ledger of a task, one line a step, in order. Raises ``UsageError`` like
    ``task_progress``."""
    name = task_progress(folder, task).task
    return tuple(folder.task(name).read_ledger().values)


def _task(folder: TaskFolder, results: dict[str, JsonObject], *, running: bool) -> TaskProgress:
    record, _ = read_record(folder.record)
    first = record[0] if record else None
    name = first.task if isinstance(first, Opened) else folder.name
    result = results.get(name, {})
    ledger = ledger_of(record)
    now = current_item(ledger.items)
    return TaskProgress(
        task=name,
        status=str(result.get("status") or ("running" if running else "unfinished")),
        steps=max((e.step for e in record if isinstance(e, StepTaken)), default=0),
        line=progress(ledger.items) if ledger.items else "",
        now=now.id if now else "",
        items=ledger.items,
        outputs=ledger.outputs,
        briefs=tuple(event.text for event in record if isinstance(event, BriefMade)),
        uncertain=_uncertain(record),
        error=str(result.get("error") or ""),
    )


def _uncertain(record: Record) -> tuple[str, ...]:
    answered = {event.call_id for event in record if isinstance(event, ResultArrived)}
    unknown = {
        event.call_id
        for event in record
        if isinstance(event, ResultArrived) and event.status == "unknown"
    }
    started = [event for event in record if isinstance(event, CallStarted)]
    return tuple(
        f"{event.name} {event.call_id}"
        for event in started
        if event.call_id not in answered or event.call_id in unknown
    )
