"""Which tasks a continued run still has to do, by id and content, never by place in the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from contextctl.io.runs.folder import RunFolder
from contextctl.io.text.files import write_atomic
from contextctl.io.text.jsonl import BrokenLine, JsonLines
from contextctl.model.message import JsonObject
from contextctl.model.task import Task

INPUT = "input_digest"
"""The key of a result line that holds its task's digest."""


@dataclass(slots=True)
class Plan:
    """``todo`` in the order of the task file. ``done`` are the results that stand, by task id.

    ``unmet`` are tasks whose answer was not what they expect.
    """

    todo: list[Task] = field(default_factory=list)
    done: dict[str, JsonObject] = field(default_factory=dict)
    unmet: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)


def plan_resume(tasks: Sequence[Task], folder: RunFolder) -> Plan:
    """Look at the results there are. A task is done when its last result is ``ok`` and its content
    is the one that result was for; everything else runs again.

    Lines of tasks that will run again, and broken ones, are moved out of ``results.jsonl`` into
    files beside it; all other lines keep their bytes.
    """
    plan = Plan()
    results = folder.read_results()
    latest = {str(line.value.get("id")): line.value for line in results.lines}
    unknown = []
    for task in tasks:
        result = latest.get(task.id)
        if result is None:
            plan.todo.append(task)
        elif result.get("status") != "ok":
            plan.todo.append(task)
            if result.get("checks"):
                plan.unmet.add(task.id)
        elif result.get(INPUT) not in (None, task.digest):
            plan.todo.append(task)
            plan.warnings.append(f"task '{task.id}' has changed since its result: it runs again")
        else:
            plan.done[task.id] = result
            if INPUT not in result:
                unknown.append(task.id)
    if unknown:
        names = ", ".join(f"'{name}'" for name in unknown)
        plan.warnings.append(
            f"the results of {names} do not say for which input they are: taken as done"
        )
    plan.warnings += _tidied(folder, results, {task.id for task in plan.todo})
    return plan


def _tidied(folder: RunFolder, results: JsonLines, again: set[str]) -> list[str]:
    """Leave only the lines that stand in ``results.jsonl``; what was wrong with the others."""
    if not results.path.exists():
        return []
    raw = results.path.read_bytes().split(b"\n")
    broken = {line.number: line for line in results.broken}
    last = {str(line.value.get("id")): line.number for line in results.lines}
    old = {
        line.number
        for line in results.lines
        if str(line.value.get("id")) in again or last[str(line.value.get("id"))] != line.number
    }
    kept, superseded, torn = bytearray(), bytearray(), bytearray()
    for number, line in enumerate(raw, start=1):
        if line.strip():
            target = torn if number in broken else superseded if number in old else kept
            target += line + b"\n"
    for name, data in (("results.superseded.jsonl", superseded), ("results.jsonl.torn", torn)):
        if data:
            with (folder.path / name).open("ab") as file:
                file.write(data)
    if bytes(kept) != results.path.read_bytes():
        write_atomic(results.path, bytes(kept))
    return [_said(results, line) for line in broken.values()]


def _said(results: JsonLines, line: BrokenLine) -> str:
    what = "a torn last line" if line.torn else "a broken line"
    return (
        f"{results.path}:{line.number}: {what} ({line.reason}): moved to 'results.jsonl.torn', "
        "and its task runs again"
    )
