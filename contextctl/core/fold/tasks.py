"""The task ledger: what is to be done, in what order, what came of it, and what changed last.

It follows from the record alone: the todo list as it was last set, the outputs saved, the last
brief. The window carries a compressed view of it (``core/plan.py``); people read it whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from contextctl.model.record import BriefMade, Event, OutputSaved, Todo, TodoSet

STATUSES = ("pending", "active", "done", "failed")
ENDED = ("done", "failed")


@dataclass(frozen=True, slots=True)
class Ledger:
    """The plan as of an event. ``briefed`` is the list as it was at the last brief."""

    items: tuple[Todo, ...] = ()
    outputs: tuple[OutputSaved, ...] = ()
    brief: str = ""
    briefed: tuple[Todo, ...] = ()
    briefed_outputs: tuple[OutputSaved, ...] = field(default=())

    @property
    def current(self) -> Todo | None:
        """The item being worked on, else the first that may be begun."""
        return current_item(self.items)

    @property
    def is_complete(self) -> bool:
        """Whether every item is done. A plan without items is no plan, and not complete."""
        return bool(self.items) and all(item.status == "done" for item in self.items)


def ledger_of(record: Iterable[Event]) -> Ledger:
    """The plan that the facts of ``record`` make."""
    ledger = Ledger()
    for event in record:
        ledger = after(ledger, event)
    return ledger


def after(ledger: Ledger, event: Event) -> Ledger:
    """The plan after one more fact."""
    if isinstance(event, TodoSet):
        return replace(ledger, items=named(event.items))
    if isinstance(event, OutputSaved):
        kept = [o for o in ledger.outputs if (o.item, o.name) != (event.item, event.name)]
        return replace(ledger, outputs=(*kept, event))
    if isinstance(event, BriefMade):
        return replace(
            ledger, brief=event.text, briefed=ledger.items, briefed_outputs=ledger.outputs
        )
    return ledger


def named(items: Sequence[Todo], others: Collection[str] = ()) -> tuple[Todo, ...]:
    """The items, each with an id: its place in the list where it has none, or the next number that
    neither an item nor one of ``others`` has."""
    taken = {*others, *(item.id for item in items if item.id)}
    out = []
    for place, item in enumerate(items, start=1):
        free = (str(number) for number in count(place) if str(number) not in taken)
        name = item.id or next(free)
        taken.add(name)
        out.append(replace(item, id=name))
    return tuple(out)


def plan_fault(items: Sequence[Todo]) -> str:
    """What is wrong with a plan: a name twice, an unknown one, a circle; empty when nothing is."""
    ids = [item.id for item in items]
    known = set(ids)
    for item in items:
        if ids.count(item.id) > 1:
            return f"two items have the id '{item.id}'"
        if item.status not in STATUSES:
            return f"item '{item.id}': status '{item.status}' is none of {', '.join(STATUSES)}"
        unknown = [name for name in (*item.after, item.parent) if name and name not in known]
        if unknown:
            return f"item '{item.id}' names '{unknown[0]}', which is no item"
    return _circle(items)


def _circle(items: Sequence[Todo]) -> str:
    """An item that waits for itself, by whatever way."""
    waits = {item.id: (*item.after, *_parts(items, item)) for item in items}
    ended: set[str] = set()
    while len(ended) < len(waits):
        free = {name for name, others in waits.items() if ended.issuperset(others)} - ended
        if not free:
            return f"items wait for each other: {', '.join(sorted(set(waits) - ended)[:6])}"
        ended |= free
    return ""


def waits_for(items: Sequence[Todo], item: Todo) -> tuple[str, ...]:
    """The ids of what has to be done before ``item``: what it comes after, and its own parts."""
    done = {one.id for one in items if one.status == "done"}
    return tuple(name for name in (*item.after, *_parts(items, item)) if name not in done)


def _parts(items: Sequence[Todo], item: Todo) -> tuple[str, ...]:
    return tuple(one.id for one in items if one.parent == item.id)


def current_item(items: Sequence[Todo]) -> Todo | None:
    """The active item, else the first pending one that nothing stands before."""
    active = next((item for item in items if item.status == "active"), None)
    ready = (item for item in items if item.status == "pending" and not waits_for(items, item))
    return active or next(ready, None)


def ended(items: Sequence[Todo], item_id: str, status: str, note: str) -> tuple[Todo, ...]:
    """The list with one item ended, a whole whose parts are all done ended too, and the next one
    active."""
    out = [
        replace(item, status=status, note=note) if item.id == item_id else item for item in items
    ]
    for place, item in enumerate(out):
        parts = [one for one in out if one.parent == item.id]
        if parts and item.status not in ENDED and all(one.status == "done" for one in parts):
            out[place] = replace(item, status="done")
    return activated(out)


def activated(items: Sequence[Todo]) -> tuple[Todo, ...]:
    """The list with the next item active, when none is."""
    following = current_item(items)
    return tuple(
        replace(item, status="active") if following and item.id == following.id else item
        for item in items
    )


def counts(items: Sequence[Todo]) -> dict[str, int]:
    """How many items have which status; every status is there."""
    return {status: sum(item.status == status for item in items) for status in STATUSES}


def progress(items: Sequence[Todo], locale: str = "en") -> str:
    """The plan in one line: ``8 of 12 done, now 9: write the report``."""
    count = counts(items)
    line = _DONE[locale].format(done=count["done"], all=len(items))
    if count["failed"]:
        line += _FAILED[locale].format(failed=count["failed"])
    now = current_item(items)
    return line + (_NOW[locale].format(id=now.id, text=one_line(now.text)) if now else "")


def make_brief(ledger: Ledger, locale: str = "en", why: str = "") -> str:
    """What has changed since the last brief, ended by where the plan is now. ``why`` opens it."""
    before = {item.id: item.status for item in ledger.briefed}
    words = _WORDS[locale]
    parts = [why] if why else []
    for status in ENDED:
        moved = [i for i in ledger.items if i.status == status and before.get(i.id) != status]
        if moved:
            parts.append(f"{words[status]} {_joined(moved, words['more'])}")
    fresh = [i for i in ledger.items if i.id not in before and i.status not in ENDED]
    if fresh and ledger.briefed:
        parts.append(f"{words['new']} {_joined(fresh, words['more'])}")
    saved = [o for o in ledger.outputs if o not in ledger.briefed_outputs]
    if saved:
        parts.append(words["saved"] + " " + ", ".join(f"{o.name} → {o.ref}" for o in saved[-5:]))
    parts.append(progress(ledger.items, locale))
    return "; ".join(parts)


def one_line(text: str, longest: int = 200) -> str:
    """``text`` on one line, cut where it is very long."""
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[:longest].rstrip()}…"


_SHOWN = 6  # items that a brief names one by one


def _joined(items: Sequence[Todo], more: str) -> str:
    names = [
        f"{item.id} {one_line(item.text, 60)}" + (f" ({one_line(item.note, 80)})" * bool(item.note))
        for item in items[-_SHOWN:]
    ]
    rest = len(items) - len(names)
    return ", ".join(names) + (more.format(count=rest) if rest else "")


_DONE = {"en": "{done} of {all} done", "zh": "共 {all} 项，已完成 {done} 项"}
_FAILED = {"en": ", {failed} failed", "zh": "，失败 {failed} 项"}
_NOW = {"en": ", now {id}: {text}", "zh": "，当前 {id}：{text}"}
_WORDS = {
    "en": {"done": "done:", "failed": "failed:", "new": "new:", "saved": "saved:",
           "more": " and {count} before them"},
    "zh": {"done": "完成：", "failed": "失败：", "new": "新增：", "saved": "产出：",
           "more": "，及此前 {count} 项"},
}  # fmt: skip
