"""Assembly: record in, window out. One pure function that every command shares.

``Fold`` is the primitive: it sees each event once. ``assemble`` folds a whole record. Both give
the same bytes, because decisions are taken only at fixed places: when a result arrives and when a
step is settled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from contextctl.core.compaction.plan import brief_made, end_stage, output_saved, set_todo
from contextctl.core.count import Counter
from contextctl.core.fold import readings
from contextctl.core.fold.arrive import add_message, add_result, add_retrieved
from contextctl.core.fold.batch import answered, settle
from contextctl.core.fold.calibration import report_usage
from contextctl.core.fold.ledger import report
from contextctl.core.fold.memory_view import memory_forgotten, memory_read
from contextctl.core.fold.pins import set_pin, task_pins
from contextctl.core.fold.prefix import refresh_layers
from contextctl.core.fold.reminders import due_once, slot_set, slots_delivered, window_sent
from contextctl.core.fold.state import State
from contextctl.core.fold.tool_array import activate, array_sent, on_demand
from contextctl.core.fold.view import message_bytes
from contextctl.core.tools.search import OnDemand
from contextctl.core.tools.unknown import names_of
from contextctl.model.assembly import Assembly
from contextctl.model.profile import Profile
from contextctl.model.record import (
    BriefMade,
    CallStarted,
    EnvironmentRead,
    Event,
    IndexRead,
    MemoryForgotten,
    MemoryRead,
    MessageAdded,
    Noted,
    Opened,
    OutputSaved,
    PinSet,
    ResultArrived,
    RetrievedAdded,
    SlotDelivered,
    SlotSet,
    StageEnded,
    StepTaken,
    SummaryMade,
    TaskGiven,
    TodoSet,
    ToolsActivated,
    ToolsListed,
    UsageReported,
)

# Events that change nothing a window shows, so they may stand between a step and its reply.
_SILENT = (StepTaken, UsageReported, Noted, CallStarted)


class Fold:
    """The record folded so far, advanced one event at a time.

    ``assemble`` settles the step: it may start a batch, which is a decision. A ``StepTaken`` event
    has to follow before anything else, so that folding the record takes the same decision. Only
    the answer to one of the assembly's needs may stand between: it settles the step anew.
    """

    def __init__(self, profile: Profile, counter: Counter) -> None:
        self._state = State(profile=profile, counter=counter, factor=counter.factor)
        self._settled = False
        self._answered = False
        refresh_layers(self._state)

    def advance(self, event: Event) -> None:
        """Take in the next event of the record.

        Raises ``ValueError`` when the last step was assembled but never recorded.
        """
        state = self._state
        if isinstance(event, SummaryMade):
            self._settle()
            self._answered = True
        elif self._settled and not isinstance(event, _SILENT):
            if not self._answered:
                raise ValueError("a step was assembled: record its StepTaken before other events")
            self._settled = False  # a run was cut off after the answer: this came when it went on
        if isinstance(event, StepTaken):
            self._step_taken()
        state.seq += 1
        if not isinstance(event, (*_SILENT, SummaryMade)):
            state.at = state.seq
        if not isinstance(event, StepTaken):
            _HANDLERS[type(event)](state, event)

    def assemble(self) -> Assembly:
        """The window of the next step, as of the last event. Calling it twice gives the same."""
        state = self._state
        self._settle()
        tail = state.tail
        mark = hashlib.sha256(message_bytes(tail[0])).digest() if tail else b""
        ledger = report(state, mark)
        fits = ledger.status == "ok"
        messages = [piece.message for piece in state.view.pieces] if fits else []
        stable = len(messages)
        if tail and fits:
            messages.append(tail[0])
        return Assembly(
            messages=tuple(messages),
            tools=state.tools if fits else (),
            ledger=ledger,
            actions=tuple(state.new_actions),
            offloads=tuple(state.offloads),
            stable=stable,
            needs=() if state.waiting is None else (state.waiting.need,),
            compactions=tuple(state.compacting.tried),
            delivers=due_once(state) if fits else (),
        )

    def shown(self, call_id: str) -> str | None:
        """The result of a call as the window shows it now; None when it left, or never came."""
        for piece in reversed(self._state.view.pieces):
            if piece.call_id == call_id and piece.kind == "result":
                return str(piece.message.get("content"))
        return None

    @property
    def on_demand(self) -> OnDemand:
        """The tools that wait to be searched for, as of the last step."""
        return on_demand(self._state)

    @property
    def offered(self) -> tuple[str, ...]:
        """The names of the tools that the last step could call, in the order of the array."""
        return tuple(names_of(self._state.tools))

    def _settle(self) -> None:
        if not self._settled:
            settle(self._state)
            self._settled = True

    def _step_taken(self) -> None:
        """The window was sent: what comes next is measured against it."""
        self._settle()
        state = self._state
        window_sent(state)
        state.last_total = state.total
        state.last_raw = state.fixed + sum(state.raw_parts.values())
        state.view.settled()
        state.offloads = []
        state.new_actions = []
        state.warnings = []
        state.layers_changed = frozenset()
        array_sent(state)
        state.compacting.tried = []
        state.compacting.usage = {}
        state.waiting = None
        self._settled = self._answered = False


def _ignore(_state: State, _event: Event) -> None:
    """The event is a fact that shapes no window."""


# What each kind of event does to the state. StepTaken is the one that the fold itself answers.
_HANDLERS: dict[type[Event], Callable[[State, Any], None]] = {
    Opened: readings.opened,
    EnvironmentRead: readings.environment_read,
    ToolsListed: readings.tools_listed,
    ToolsActivated: activate,
    IndexRead: readings.index_read,
    SlotSet: slot_set,
    SlotDelivered: slots_delivered,
    MemoryRead: memory_read,
    MemoryForgotten: memory_forgotten,
    TaskGiven: task_pins,
    PinSet: set_pin,
    MessageAdded: add_message,
    ResultArrived: add_result,
    RetrievedAdded: add_retrieved,
    UsageReported: report_usage,
    CallStarted: _ignore,
    StageEnded: end_stage,
    TodoSet: set_todo,
    OutputSaved: output_saved,
    BriefMade: brief_made,
    SummaryMade: answered,
    Noted: _ignore,
}


def assemble(profile: Profile, record: Iterable[Event], counter: Counter) -> Assembly:
    """Fold ``record`` and assemble its next step. No clock, disk, network or randomness."""
    fold = Fold(profile, counter)
    for event in record:
        fold.advance(event)
    return fold.assemble()
