"""The plan in the window: pinned as it is, counted, and shown at the tail in a compressed view."""

from __future__ import annotations

import re

from contextctl.core.fold.state import State
from contextctl.core.fold.tasks import current_item, named, one_line, progress
from contextctl.model.message import JsonObject
from contextctl.model.record import BriefMade, OutputSaved, StageEnded, Todo, TodoSet

MARKS = {"pending": " ", "active": ">", "done": "x", "failed": "!"}
_COUNT = re.compile(r"^- todo: (?:\d+ of (?P<en>\d+)|共 (?P<zh>\d+) 项)", re.MULTILINE)
# A plan of so many items is shown item by item; of a longer one what is next, and what failed.
SHOWN_WHOLE, SHOWN_NEXT = 20, 5
NEXT = {"en": "  then: {names}", "zh": "  之后：{names}"}
FAILED = {"en": "  failed: {names}", "zh": "  失败：{names}"}
OUTPUTS = {"en": "  outputs: {names}", "zh": "  产出：{names}"}
BRIEF = {"en": "- last brief: {text}", "zh": "- 上次简报：{text}"}


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


def todo_lines(state: State) -> list[str]:
    """The plan as it stands at the tail: how far it is, its items (of a long plan the next ones),
    the outputs at hand, and the last brief."""
    if not state.todo:
        return []
    locale = state.profile.shaping.locale
    items = named(state.todo)
    lines = [f"- todo: {progress(items, locale)}"]
    lines += _whole(items) if len(items) <= SHOWN_WHOLE else _next(items, locale)
    outputs = _outputs(state, items)
    if outputs:
        lines.append(OUTPUTS[locale].format(names=outputs))
    if state.brief:
        lines.append(BRIEF[locale].format(text=one_line(state.brief, 400)))
    return lines


def todo_count(tail: tuple[JsonObject, int] | None) -> int:
    """How many items a tail block speaks of."""
    found = _COUNT.search(str(tail[0].get("content"))) if tail else None
    return int(found["en"] or found["zh"]) if found else 0


def _whole(items: tuple[Todo, ...]) -> list[str]:
    deep = {item.id for item in items if item.parent}
    return [
        f"  {'  ' * (item.id in deep)}[{MARKS.get(item.status, ' ')}] {one_line(item.text)}"
        for item in items
    ]


def _next(items: tuple[Todo, ...], locale: str) -> list[str]:
    now = current_item(items)
    left = [item for item in items if item.status == "pending" and item is not now]
    failed = [item for item in items if item.status == "failed"]
    lines = []
    for form, some in ((NEXT, left[:SHOWN_NEXT]), (FAILED, failed[-SHOWN_NEXT:])):
        if some:
            names = "; ".join(f"{item.id} {one_line(item.text, 80)}" for item in some)
            lines.append(form[locale].format(names=names))
    return lines


def _outputs(state: State, items: tuple[Todo, ...]) -> str:
    """What the item being worked on builds on; without such items the newest outputs."""
    now = current_item(items)
    wanted = set(now.after) if now else set()
    near = [o for o in state.outputs if o.item in wanted] or list(state.outputs)
    return ", ".join(f"{o.name} → {o.ref}" for o in near[-SHOWN_NEXT:])
