"""The plan of a task as a progress report, and the tasks of a run as a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextctl.model.progress import TaskProgress
from contextctl.model.record import Todo
from contextctl.report.columns import table

MARKS = {"pending": " ", "active": ">", "done": "x", "failed": "!"}
_BRIEFS = 5


def progress_list_text(tasks: Sequence[TaskProgress]) -> str:
    """One line a task: its status, its steps, and its plan in one line."""
    if not tasks:
        return "no task was begun"
    lines = [["TASK", "STATUS", "STEPS", "PLAN"]]
    lines += [[one.task, one.status, str(one.steps), one.line or "-"] for one in tasks]
    return "\n".join(table(lines, [False, False, True, False]))


def progress_text(task: TaskProgress) -> str:
    """The whole report: the plan item by item, outputs, what is uncertain, the last briefs."""
    return "\n".join(_lines(task))


def _lines(task: TaskProgress) -> Iterator[str]:
    yield f"{task.task}: {task.status}, {task.steps} steps{f', {task.line}' if task.line else ''}"
    if task.error:
        yield f"error: {task.error}"
    if not task.items:
        yield "no plan was written"
    for item in task.items:
        yield from _item(task, item)
    for call in task.uncertain:
        yield f"uncertain: {call} had started and its outcome is not known"
    if task.briefs:
        yield "briefs, the last one last:"
        yield from (f"  {text}" for text in task.briefs[-_BRIEFS:])


def _item(task: TaskProgress, item: Todo) -> Iterator[str]:
    indent = "    " if item.parent else "  "
    waits = f" (after {', '.join(item.after)})" if item.after and item.status == "pending" else ""
    note = f": {item.note}" if item.note else ""
    yield f"{indent}[{MARKS.get(item.status, ' ')}] {item.id} {item.text}{waits}{note}"
    for output in task.outputs:
        if output.item == item.id:
            yield f"{indent}    {output.name} → {output.ref}"
