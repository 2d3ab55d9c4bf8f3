"""The state of a task outside its window, as the run keeps it: its plan and its memory.

What the model may do to either is a tool; what came of a call stands in the result's ``extra``, so
that the facts that belong to it can be written again after a crash between the two.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contextctl.core.explain.tool_call import Arguments, bad_arguments
from contextctl.core.fold.state import DEFAULT_WINDOW
from contextctl.core.fold.tasks import (
    ENDED,
    current_item,
    ledger_of,
    make_brief,
    one_line,
    progress,
)
from contextctl.core.memory.text import read_item
from contextctl.core.memory.tools import (
    MEMORY_TOOLS,
    candidate_from,
    proposed_answer,
    recalled_answer,
)
from contextctl.core.reading.exact_json import dump_exact
from contextctl.core.reading.refs import content_hash, make_ref
from contextctl.core.tools.pin import PIN, pin_value
from contextctl.core.tools.plan import (
    AT_FIRST,
    FINISH_STAGE,
    PLAN_TOOLS,
    SAVE_OUTPUT,
    finish_stage,
    saved_output,
    write_todo,
)
from contextctl.core.tools.plan_answer import Answered
from contextctl.io.runs.folder import HOME
from contextctl.io.stores.memories import MemoryStore, open_memory
from contextctl.model.failure import ARGUMENTS
from contextctl.model.memory_keys import is_subject
from contextctl.model.message import Json, JsonObject, ToolCall
from contextctl.model.outcome import ToolOutcome
from contextctl.model.own_sources import MEMORY, PLAN
from contextctl.model.profile import Profile
from contextctl.model.record import (
    BriefMade,
    Event,
    IndexRead,
    MemoryForgotten,
    MemoryRead,
    MessageAdded,
    Noted,
    Record,
    ResultArrived,
    SlotSet,
    StepTaken,
    ToolsListed,
)
from contextctl.model.record_json import event_from_json, event_to_json
from contextctl.model.task import Task
from contextctl.run.extract import found_candidates
from contextctl.run.memories import Memories
from contextctl.run.own_tools import arguments_of
from contextctl.run.remembered import Remembered

if TYPE_CHECKING:
    from contextctl.run.live import Live

PLAN_FROM = 6000
"""Usable tokens from which a plan's tools are offered by themselves: they take 2 % of that."""

FACTS = "facts"
"""Key in a result's ``extra``: the facts that come with it."""

RESUMED = {
    "en": "This run was interrupted and goes on. Calls answered as uncertain may have taken effect:"
    " check before you repeat one.",
    "zh": "运行曾中断，现继续。标为不确定的调用可能已经生效：重复之前先核实。",
}
NOT_COMPLETE = {
    "en": "The task ends when every item of the plan is done. {progress}. Go on with it, or end"
    " the item as failed and say why.",
    "zh": "计划全部完成后任务才结束。{progress}。请继续，或将该项标为失败并说明原因。",
}
AGAIN = {"en": "interrupted, goes on", "zh": "中断后继续"}


class MemoryWatch:
    """What a task has read of its subject's memory, and as of which change."""

    def __init__(self) -> None:
        self.read: dict[str, str] = {}
        self.index: tuple[Mapping[str, Json], ...] = ()
        self._version = -1

    def follow(self, event: Event) -> None:
        """Take in a fact of the record."""
        if isinstance(event, MemoryRead):
            self.read |= {str(item.get("id")): str(item.get("text")) for item in event.items}
        elif isinstance(event, MemoryForgotten):
            for one in event.ids:
                self.read.pop(one, None)
        elif isinstance(event, IndexRead) and event.source == MEMORY:
            self.index = event.entries

    def is_new(self, version: int) -> bool:
        """Whether anything was written or deleted since this was asked last."""
        changed, self._version = version != self._version, version
        return changed


class TaskState:
    """Plan and memory for the tasks of one profile. ``store`` is None where memory is off.

    ``dry``: memory is looked at, and not even a recall is counted.
    """

    def __init__(self, profile: Profile, store: MemoryStore | None, *, dry: bool = False) -> None:
        self.profile = profile
        self._dry = dry
        self._store = store
        self._subjects: dict[str, Remembered] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> frozenset[str]:
        """The tools that are answered here. A tool of the profile keeps its name."""
        own = (PLAN_TOOLS if self.profile.plan.enabled else {}, MEMORY_TOOLS)
        return frozenset(name for tools in own for name in tools) - set(self.profile.tools)

    @property
    def _has_room_for_a_plan(self) -> bool:
        """A window that a plan's tools would take a large part of is not meant for a plan, unless
        the profile says so."""
        model, declared = self.profile.model, self.profile.origin_of("/plan/enabled")
        usable = (model.window or DEFAULT_WINDOW) - model.reserve_output
        return declared is not None or usable >= PLAN_FROM

    def is_alone(self, name: str) -> bool:
        """Whether a call must see what the calls before it did."""
        return name in self.names

    def memories(self, task: Task, session: str) -> Memories | None:
        """The memory of the task's subject; None without one, or where memory is off."""
        if self._store is None or not is_subject(task.subject):
            return None
        rule, subject = self.profile.memory, task.subject
        with self._lock:
            shared = self._subjects.get(subject) or Remembered(self._store, rule, subject)
            self._subjects[subject] = shared
        return Memories(self._store, rule, subject, session, shared)

    def opening(self, task: Task, session: str) -> list[Event]:
        """What stands before the first message: the tools, and what is remembered."""
        events: list[Event] = []
        plan = tuple(spec for spec in AT_FIRST if spec.name in self.names)
        if plan and self._has_room_for_a_plan and not task.is_conversation:
            events.append(ToolsListed(PLAN, plan))
        memories = self.memories(task, session)
        if memories is not None:
            tools = tuple(spec for spec in MEMORY_TOOLS.values() if spec.name in self.names)
            events += [ToolsListed(MEMORY, tools), *self._index(memories)]
            question = _question(task)
            found = memories.recall(question, count=not self._dry)
            if found:
                items = tuple(read_item(one.memory) for one in found)
                events.append(MemoryRead(one_line(question), items))
        return events

    def resumed(self, record: Record, previous: str = "") -> list[Event]:
        """What a run that goes on says of itself: a brief, and once to the model. ``previous`` is
        the owner that the task was taken over from."""
        if not any(isinstance(event, StepTaken) for event in record):
            return []
        ledger = ledger_of(record)
        if not ledger.items or ledger.is_complete or _is_answered(record):
            return []
        locale = self.profile.shaping.locale
        now = current_item(ledger.items)
        brief = make_brief(ledger, locale, AGAIN[locale])
        events: list[Event] = []
        if now is not None:
            events.append(Noted("reclaimed", {"item": now.id, "from": previous}))
        # How far the plan is stands at the tail: a call still open may end an item before that.
        return [*events, BriefMade(brief), SlotSet("once:resumed", RESUMED[locale])]

    def before_step(self, live: Live) -> list[Event]:
        """What changed outside since the last step: memories deleted or corrected, a new index."""
        memories = self.memories(live.task, live.workspace.session)
        if memories is None or not live.watch.is_new(memories.version()):
            return []
        gone = memories.gone(live.watch.read)
        events: list[Event] = [MemoryForgotten(gone)] if gone else []
        fresh = self._index(memories)
        return events + [event for event in fresh if event.entries != live.watch.index]

    def unfinished(self, record: Iterable[Event]) -> str:
        """What keeps the task from ending, said to the model; empty when nothing does."""
        if self.profile.limits.done_when != "plan_complete" or not self.profile.plan.enabled:
            return ""
        ledger = ledger_of(record)
        if all(item.status in ENDED for item in ledger.items):
            return ""
        locale = self.profile.shaping.locale
        return NOT_COMPLETE[locale].format(progress=progress(ledger.items, locale))

    def finished(self, live: Live) -> None:
        """A task has its answer: what its user said is looked through for memories."""
        memories = self.memories(live.task, live.workspace.session)
        if memories is None:
            return
        live.check_owner()
        by, candidates = found_candidates(live, memories.subject)
        for candidate in candidates:
            memories.write(candidate, by=f"{by}, task {live.task.id}")

    def outcome(self, live: Live, call: ToolCall) -> ToolOutcome | None:
        """The outcome of a call of one of these tools; None when it is none of them."""
        if call.name not in self.names:
            return None
        given = arguments_of(call)
        if given is None:
            return _outcome(Answered(bad_arguments("the arguments are not a JSON object")))
        if call.name in PLAN_TOOLS:
            return _outcome(self._planned(live, call.name, given))
        memories = self.memories(live.task, live.workspace.session)
        if memories is None:
            hint = "this task has no subject, so nothing is remembered for it"
            return _outcome(Answered({"error": "no_subject", "hint": hint}))
        return _outcome(self._remembered(live, memories, call.name, given))

    def _planned(self, live: Live, name: str, given: JsonObject) -> Answered:
        locale, ledger = self.profile.shaping.locale, ledger_of(live.record())
        if name == PIN:
            return pin_value(given, self.profile.pins)
        if name == FINISH_STAGE:
            return finish_stage(given, ledger, locale)
        if name == SAVE_OUTPUT:
            asked = Arguments(given)
            item, label = asked.text("item"), asked.text("name")
            content = given.get("content")
            if asked.problem or content is None:
                return Answered(bad_arguments(asked.problem or "'content' is missing"))
            checked = saved_output(item, label, "", ledger)
            if not checked.facts:
                return checked
            text = content if isinstance(content, str) else dump_exact(content)
            return saved_output(item, label, _stored(live, text), ledger)
        answered = write_todo(given, ledger, locale)
        if answered.facts and not ledger.items:
            tools = tuple(spec for spec in PLAN_TOOLS.values() if spec.name in self.names)
            return Answered(answered.answer, (*answered.facts, ToolsListed(PLAN, tools)))
        return answered

    def _remembered(self, live: Live, memories: Memories, name: str, given: JsonObject) -> Answered:
        locale = self.profile.shaping.locale
        if name == "memory_recall":
            query = given.get("query")
            if not isinstance(query, str) or not query.strip():
                return Answered(bad_arguments("'query' must be text"))
            found = memories.recall(query)
            answer = recalled_answer(query, found, locale)
            items = tuple(read_item(one.memory) for one in found)
            facts = (MemoryRead(query, items, shown=False),) if items else ()
            return Answered(answer, facts)
        try:
            candidate = candidate_from(
                given, live.record(), subject=memories.subject, session=memories.session
            )
        except ValueError as error:
            return Answered(bad_arguments(str(error)))
        written = memories.write(candidate, by=f"model, task {live.task.id}")
        return Answered(proposed_answer(written, locale))

    def _index(self, memories: Memories) -> list[IndexRead]:
        """The index layer, where the profile has one."""
        if not any(layer.index == MEMORY for layer in self.profile.prefix):
            return []
        return [IndexRead(MEMORY, memories.entries())]

    def close(self) -> None:
        """Give up the store."""
        if self._store is not None:
            self._store.close()


def open_state(profile: Profile, base: Path, *, dry: bool = False) -> TaskState:
    """The state that tasks of ``profile`` share. Memory is in ``.contextctl`` below ``base``,
    unless the profile names a database; what has expired is deleted. Raises ``StoreError``."""
    if not profile.memory.enabled:
        return TaskState(profile, None, dry=dry)
    store = open_memory(profile.stores.memory, base / HOME)
    if store is not None and not dry:
        store.expire()
    return TaskState(profile, store, dry=dry)


def facts_with(result: ResultArrived) -> tuple[Event, ...]:
    """The facts that came with a result."""
    listed = result.extra.get(FACTS)
    facts = listed if isinstance(listed, list) else []
    return tuple(event_from_json(fact) for fact in facts if isinstance(fact, dict))


def _outcome(answered: Answered) -> ToolOutcome:
    # As they will be read again: tuples are lists in a record.
    facts: list[Json] = [json.loads(json.dumps(event_to_json(e))) for e in answered.facts]
    failed = "error" in answered.answer
    return ToolOutcome(
        dump_exact(answered.answer),
        status="error" if failed else "ok",
        extra={FACTS: facts} if facts else {},
        failure=ARGUMENTS if answered.answer.get("error") == "bad_arguments" else "",
    )


def _stored(live: Live, text: str) -> str:
    """The ref of a text that stands in the workspace now."""
    sha256 = content_hash(text)
    ref = make_ref(live.workspace.session, live.key, sha256)
    live.workspace.put(ref, sha256, text, "text/plain")
    return ref


def _question(task: Task) -> str:
    """What memories are looked up for: the newest words of the user."""
    said = [message.text for message in task.messages if message.role == "user"]
    return (said[-1] if said else task.input)[:2000]


def _is_answered(record: Sequence[Event]) -> bool:
    said = [e.message for e in record if isinstance(e, MessageAdded)]
    return bool(said) and said[-1].role == "assistant" and not said[-1].tool_calls
