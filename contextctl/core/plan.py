"""The smallest plan: a todo list that is pinned, counted, and shown at the tail as it is now."""

from __future__ import annotations

import re

from contextctl.core.state import State
from contextctl.model.message import JsonObject
from contextctl.model.record import BriefMade, OutputSaved, StageEnded, Todo, TodoSet

STATUSES = ("pending", "active", "done", "failed")
MARKS = {"pending": " ", "active": ">", "done": "x", "failed": "!"}
_ITEM = re.compile(r"^  \[[ >x!]\] ", re.MULTILINE)
HEAD = {"en": "- todo: {done} of {all} done", "zh": "- todo：共 {all} 项，已完成 {done} 项"}


def set_todo(state: State, event: TodoSet) -> None:
    """The list replaces the one before."""
    state.todo = event.items


def output_saved(state: State, event: OutputSaved) -> None:
    """An item's output is known by its name; a later one of that name takes its place."""
    kept = [o for o in state.outputs if (o.item, o.name) != (event.item, event.name)]
    state.outputs = (*kept, event)


def brief_made(state: State, event: BriefMade) -> None:
    """The last brief stands at the tail."""
    state.brief = event.text


def end_stage(state: State, _event: StageEnded) -> None:
    """The next step may begin with a compaction."""
    state.compacting.stage_ended = True


def todo_lines(items: tuple[Todo, ...], locale: str) -> list[str]:
    """The list as it stands at the tail: how far it is, then every item with its mark."""
    if not items:
        return []
    done = sum(item.status == "done" for item in items)
    head = HEAD[locale].format(done=done, all=len(items))
    return [head, *(f"  [{MARKS.get(item.status, ' ')}] {_one(item.text)}" for item in items)]


def todo_count(tail: tuple[JsonObject, int] | None) -> int:
    """How many items stand in a tail block."""
    return len(_ITEM.findall(str(tail[0].get("content")))) if tail else 0


def _one(text: str) -> str:
    return " ".join(text.split())
