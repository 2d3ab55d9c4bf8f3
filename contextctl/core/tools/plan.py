"""The tools with which a model keeps its plan: write it, end an item, save what came of one.

A done item stays done: a model that has forgotten cannot take back what was finished, and an item
that others have to be done before cannot be ended first. The answers are facts (``TodoSet``,
``OutputSaved``, ``StageEnded``, ``BriefMade``) that stand in the record with the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from contextctl.core.explain.tool_call import Arguments, bad_arguments, tool_spec
from contextctl.core.fold.tasks import (
    ENDED,
    STATUSES,
    Ledger,
    activated,
    after,
    ended,
    make_brief,
    named,
    plan_fault,
    progress,
    waits_for,
)
from contextctl.core.tools.pin import PIN_TOOL
from contextctl.core.tools.plan_answer import Answered
from contextctl.model.message import Json, JsonObject, ToolSpec
from contextctl.model.own_sources import PLAN
from contextctl.model.record import BriefMade, OutputSaved, StageEnded, Todo, TodoSet

_TEXT: JsonObject = {"type": "string"}
_NAMES: JsonObject = {"type": "array", "items": {"type": "string"}}
_ITEM: JsonObject = {
    "type": "object",
    "properties": {
        "id": _TEXT,
        "text": _TEXT,
        "status": {"type": "string", "enum": [*STATUSES]},
        "after": _NAMES,
        "parent": _TEXT,
    },
    "required": ["text"],
}

TODO_WRITE, FINISH_STAGE, SAVE_OUTPUT = "todo_write", "finish_stage", "save_output"

PLAN_TOOLS: Mapping[str, ToolSpec] = MappingProxyType(
    {
        tool.name: tool
        for tool in (
            tool_spec(
                TODO_WRITE,
                "Set the whole plan of a long task; after: ids that have to be done first.",
                {"items": {"type": "array", "items": _ITEM}},
                source=PLAN,
            ),
            tool_spec(
                FINISH_STAGE,
                "End an item of the plan; the next one becomes active.",
                {"item": _TEXT},
                {"status": {"type": "string", "enum": [*ENDED]}, "note": _TEXT},
                source=PLAN,
            ),
            tool_spec(
                SAVE_OUTPUT,
                "Store what an item produced; later items read it by its ref.",
                {"item": _TEXT, "name": _TEXT, "content": _TEXT},
                source=PLAN,
            ),
            PIN_TOOL,
        )
    }
)
"""The tools by name, in the order in which they are offered."""

AT_FIRST = (PLAN_TOOLS[TODO_WRITE], PIN_TOOL)
"""What is offered before there is a plan."""


def write_todo(arguments: Mapping[str, Json], ledger: Ledger, locale: str) -> Answered:
    """``todo_write``: the list replaces the one before, and what is done stays done."""
    raw = arguments.get("items")
    if not isinstance(raw, list) or not all(isinstance(item, dict) for item in raw):
        return Answered(bad_arguments("'items' must be a list of objects with a 'text'"))
    known = _Known(ledger.items, raw)
    items: list[Todo] = []
    for place, item in enumerate(raw, start=1):
        todo = _todo(item, known) if isinstance(item, dict) else None
        if todo is None:
            return Answered(bad_arguments(f"item {place} needs a 'text'"))
        items.append(todo)
    fresh = named(items, [item.id for item in ledger.items])
    undone = _undone(ledger.items, fresh)
    whole = (*_left_out(ledger.items, fresh), *fresh)
    fault = plan_fault(whole)
    if fault:
        return Answered({"error": "bad_plan", "hint": fault})
    if undone:
        return Answered({"error": "done_stays_done", "items": [*undone], "hint": _UNDONE[locale]})
    left = [item.id for item in ledger.items if item.status not in ENDED]
    if not fresh and left:
        return Answered({"error": "bad_plan", "open_items": [*left[:20]], "hint": _EMPTY[locale]})
    early = _too_early(ledger.items, whole)
    if early is not None:
        first: list[Json] = [*waits_for(whole, early)]
        return Answered({"error": "not_yet", "item": early.id, "first": first})
    whole = activated(whole)
    answer: JsonObject = {"plan": progress(whole, locale)}
    return Answered(answer, (TodoSet(whole),))


def finish_stage(arguments: Mapping[str, Json], ledger: Ledger, locale: str) -> Answered:
    """``finish_stage``: an item ends, a brief says what changed, a compaction may follow."""
    asked = Arguments(arguments)
    name, status = asked.text("item"), _status(asked.text("status", "done"))
    note = asked.text("note", "")
    if asked.problem:
        return Answered(bad_arguments(asked.problem))
    item = next((one for one in ledger.items if one.id == name), None)
    if item is None:
        ids: list[Json] = [one.id for one in ledger.items if one.status not in ENDED]
        return Answered({"error": "unknown_item", "item": name, "open_items": ids[:20]})
    if status not in ENDED:
        return Answered(bad_arguments(f"'status' must be one of {', '.join(ENDED)}"))
    if item.status == "done":
        return Answered({"plan": progress(ledger.items, locale), "note": _ALREADY[locale]})
    waiting = waits_for(ledger.items, item)
    if waiting and status == "done":
        return Answered({"error": "not_yet", "item": name, "first": [*waiting]})
    changed = TodoSet(ended(ledger.items, name, status, note))
    now = after(ledger, changed)
    brief = make_brief(now, locale)
    facts = (changed, StageEnded(item.text), BriefMade(brief))
    return Answered({"plan": progress(now.items, locale)}, facts)


def saved_output(item: str, name: str, ref: str, ledger: Ledger) -> Answered:
    """``save_output``, once the content stands in the workspace under ``ref``."""
    if all(one.id != item for one in ledger.items):
        ids: list[Json] = [one.id for one in ledger.items]
        return Answered({"error": "unknown_item", "item": item, "items": ids[:20]})
    return Answered({"item": item, "name": name, "ref": ref}, (OutputSaved(item, name, ref),))


# What the to-do tools of other agents call the same.
_OTHER_WORDS = {
    "in_progress": "active", "todo": "pending", "open": "pending", "complete": "done",
    "completed": "done", "cancelled": "failed", "canceled": "failed",
}  # fmt: skip
_EMPTY = {
    "en": "an empty plan drops what is open; end items with finish_stage, as failed if need be",
    "zh": "空计划会丢弃未完成的项；请用 finish_stage 结束各项，必要时标为失败",
}
_UNDONE = {
    "en": "these items are done already; their status cannot go back. Add a new item instead",
    "zh": "这些项已完成，状态不能回退；如需重做请新增一项",
}
_ALREADY = {"en": "it was done already", "zh": "该项此前已完成"}


class _Known:
    """The items there are, to be met again in a new list: by their ids, else by their texts."""

    def __init__(self, items: Sequence[Todo], raw: Sequence[Json]) -> None:
        self._by_id = {item.id: item for item in items}
        named = {str(one.get("id")) for one in raw if isinstance(one, dict) and one.get("id")}
        self._by_text: dict[str, list[Todo]] = {}
        for item in items:
            if item.id not in named:
                self._by_text.setdefault(item.text, []).append(item)

    def met(self, name: str, text: str) -> Todo | None:
        """The item that is meant, each at most once where no id names it."""
        if name:
            return self._by_id.get(name)
        left = self._by_text.get(text)
        return left.pop(0) if left else None


def _todo(item: JsonObject, known: _Known) -> Todo | None:
    """One item as a model writes it; what it leaves out stays as it was."""
    text = item.get("text")
    if not isinstance(text, str) or not text.strip():
        return None
    name = str(item.get("id") or "")
    old = known.met(name, text.strip()) or Todo(text)
    listed = item.get("after")
    return replace(
        old,
        text=text.strip(),
        id=name or old.id,
        status=_status(str(item.get("status") or old.status)),
        after=tuple(map(str, listed)) if isinstance(listed, list) else old.after,
        parent=str(item.get("parent") or old.parent),
    )


def _status(word: str) -> str:
    return _OTHER_WORDS.get(word.strip().lower().replace("-", "_"), word)


def _too_early(before: Sequence[Todo], now: Sequence[Todo]) -> Todo | None:
    """The first item that would be done now although one that it waits for is not."""
    done = {item.id for item in before if item.status == "done"}
    fresh = (item for item in now if item.status == "done" and item.id not in done)
    return next((item for item in fresh if waits_for(now, item)), None)


def _undone(before: Sequence[Todo], now: Sequence[Todo]) -> list[str]:
    """Ids of items that were done and would be open again."""
    status = {item.id: item.status for item in now}
    return [i.id for i in before if i.status == "done" and status.get(i.id, "done") != "done"]


def _left_out(before: Sequence[Todo], now: Sequence[Todo]) -> list[Todo]:
    """Done items that a new list does not name: what was finished stays known."""
    ids = {item.id for item in now}
    return [item for item in before if item.status == "done" and item.id not in ids]
