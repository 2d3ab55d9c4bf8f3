"""The same assembly inside a loop of your own: LangGraph, the OpenAI SDK, anything.

    session = Session(load_profile("profiles/prod.yaml"), task="Which orders are late?")
    while True:
        window = session.assemble()                 # .messages .tools .ledger .actions .needs
        reply = client.chat.completions.create(
            model=…, messages=[*window.messages], tools=[*window.tools])
        session.add(reply.choices[0].message.model_dump(exclude_none=True))
        for call in session.open_calls:
            if session.answers(call.name):          # the model reads back what left the window
                session.answer(call)
            else:
                session.add_tool_result(call.id, call.name, run(call))
        …

A session is not safe to use from several threads at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contextctl.core.assemble import Fold
from contextctl.core.tools.result_pins import result_pins
from contextctl.core.tools.workspace import WORKSPACE_TOOLS
from contextctl.core.trace_events import result_text
from contextctl.errors import ContextOverflow, UsageError
from contextctl.io.models.vocab import counter_for
from contextctl.io.profile.windows import resolve_window
from contextctl.io.runs.environment import read_environment
from contextctl.io.runs.sessions import new_session
from contextctl.io.stores.memory import MemoryStore
from contextctl.io.workspace.session import Workspace
from contextctl.model.assembly import Assembly, Need
from contextctl.model.message import (
    Json,
    Message,
    ToolCall,
    ToolSpec,
    message_from_openai,
    tool_from_openai,
)
from contextctl.model.profile import Profile
from contextctl.model.record import (
    EnvironmentRead,
    Event,
    MessageAdded,
    Opened,
    PinSet,
    Record,
    ResultArrived,
    SlotSet,
    StepTaken,
    SummaryMade,
    TaskGiven,
    ToolsListed,
    UsageReported,
)
from contextctl.model.usage import usage_from_provider
from contextctl.run.on_demand import FAILURE, ToolSearch, ToolsOnDemand, consequences
from contextctl.run.opening import declared_readings
from contextctl.run.workspace_calls import WorkspaceCalls, is_error
from contextctl.version import __version__

if TYPE_CHECKING:
    from contextctl.io.workspace.blobs import BlobStore


class Session:
    """One task: facts go in, windows come out. The record only ever grows.

    ``task`` is what the task asks. It becomes the first user message unless one is added before
    the first ``assemble``. ``tools`` are OpenAI tool dicts, ``constraints`` and ``pins`` stand
    verbatim in every window. ``workspace`` is the folder (or fsspec URL) for what leaves the
    window; None keeps it in memory. ``record`` continues a session that was kept.
    """

    def __init__(
        self,
        profile: Profile,
        task: str = "",
        *,
        tools: Iterable[Mapping[str, Json]] = (),
        constraints: Sequence[str] = (),
        pins: Mapping[str, Json] | None = None,
        workspace: Path | str | None = None,
        record: Iterable[Event] = (),
    ) -> None:
        self.profile = resolve_window(profile)
        self._fold = Fold(
            self.profile, counter_for(self.profile.tokenizer, self.profile.model.name)
        )
        self._search = ToolSearch(self.profile.defer)
        self._events: list[Event] = []
        self._open: dict[str, ToolCall] = {}
        self._assembly: Assembly | None = None
        self._step = 0
        self._task = task
        past = tuple(record)
        opened = past[0] if past and isinstance(past[0], Opened) else None
        if past and opened is None:
            raise UsageError("a record begins with the fact 'opened'; this one does not")
        opened = opened or Opened("session", *new_session(), version=__version__)
        self._key = opened.key
        self._workspace = Workspace(_store(workspace), opened.session, opened.key)
        if past:
            self._continue(past)
            return
        self._take(opened)
        self._read_environment()
        self._take(TaskGiven(task, tuple(constraints), dict(pins or {})))
        specs = [tool_from_openai(tool, "profile") for tool in tools]
        if specs:
            self._take(ToolsListed("profile", tuple(specs)))

    @property
    def record(self) -> Record:
        """All facts so far; ``Session(profile, record=…)`` goes on from them."""
        return tuple(self._events)

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls that have no result yet, in the order in which they were made."""
        return tuple(self._open.values())

    def add(self, message: Mapping[str, Json]) -> None:
        """Add a message in OpenAI chat form. A ``tool`` message is a raw result like any other.

        Raises ``ValueError`` that names the field at fault.
        """
        said = message_from_openai(message)
        if said.role == "tool":
            call_id = said.tool_call_id or ""
            call = self._open.get(call_id)
            name = said.name or (call.name if call else "")
            self.add_tool_result(call_id, name, result_text(said.content)[0])
            return
        if said.role == "assistant":
            self._ask_first()
            if self._assembly is None:
                self.assemble()
        self._take(MessageAdded(said))

    def assemble(self) -> Assembly:
        """The window of the next step: the same one until something is added.

        What it leaves out is stored first, so that a ref it shows always leads somewhere. Raises
        ``ContextOverflow`` when it does not fit; the step is recorded all the same.
        """
        if self._assembly is None:
            self._ask_first()
            self._read_environment()
            self._assembly = self._fold.assemble()
            self._workspace.put_many(self._assembly.offloads)
        assembly = self._assembly
        if assembly.ledger.status == "overflow":
            self._record_step()
            raise ContextOverflow(assembly.ledger)
        return assembly

    def add_tool_result(self, call_id: str, name: str, raw: object, *, status: str = "ok") -> str:
        """Record the raw result of a call, whole, and return the text that windows will show.

        ``raw`` is text, or a value that is written as JSON. A result that answers no open call is
        kept as a note, and shown as one.
        """
        text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False, default=str)
        return self._add_result(ResultArrived(call_id, name, text, status))

    def meant(self, call: ToolCall) -> ToolCall:
        """The call inside a ``call_tool`` (``defer.activation: call``), else the call itself."""
        return self._on_demand.target(call)

    def answers(self, name: str) -> bool:
        """Whether the session answers a call of ``name`` by itself: the reader tools, the search
        for deferred tools, and a deferred tool that no search has loaded, which is refused."""
        if name in WORKSPACE_TOOLS and name in self.profile.workspace.tools:
            return True
        demand = self._fold.on_demand
        return name in demand.own_tools or demand.unloaded(name)

    def answer(self, call: ToolCall) -> str:
        """Answer a call that ``answers`` names, and return what the model will see."""
        outcome = self._on_demand.answer(call)
        if outcome is not None:
            extra = {**outcome.extra, **({FAILURE: outcome.failure} if outcome.failure else {})}
            return self._add_result(
                ResultArrived(call.id, call.name, outcome.content, outcome.status, extra=extra)
            )
        calls = WorkspaceCalls(self._workspace, self._key, lambda: self.record)
        text = calls.execute(call.name, call.arguments)
        return self.add_tool_result(
            call.id, call.name, text, status="error" if is_error(text) else "ok"
        )

    def set_tools(self, tools: Iterable[Mapping[str, Json]], source: str = "profile") -> None:
        """Replace the tools that ``source`` offers; the very next window has them."""
        specs: list[ToolSpec] = [tool_from_openai(tool, source) for tool in tools]
        self._take(ToolsListed(source, tuple(specs)))

    def pin(self, key: str, value: Json) -> None:
        """Keep a value verbatim in every window (``confirmed_slots.order_id``); None lets it go."""
        self._take(PinSet(key, value, source="session"))

    def remind(self, slot: str, text: str) -> None:
        """Set a reminder slot, shown at the tail of the next windows; an empty text clears it."""
        self._take(SlotSet(slot, text))

    def add_usage(self, usage: Mapping[str, Json]) -> None:
        """What the provider counted for the last step (``usage`` of its answer): later counts are
        corrected by it. Call it before or after adding the reply."""
        counted = usage_from_provider(usage)
        self._record_step()
        self._advance(
            UsageReported(
                step=self._step,
                model=self.profile.model.name,
                prompt_tokens=counted.prompt_tokens,
                completion_tokens=counted.completion_tokens,
                cached_tokens=counted.cached_tokens,
                cache_write_tokens=counted.cache_write_tokens,
            )
        )

    def satisfy(self, need: Need, body: Mapping[str, Json], *, by: str = "model") -> None:
        """Answer a need of the last assembly (a summary); assemble again after it."""
        through = need.body.get("through")
        last = through if isinstance(through, int) else len(self._events)
        self._assembly = None
        self._advance(SummaryMade(need.id, last, dict(body), by=by))

    def close(self) -> None:
        """Close the workspace."""
        self._workspace.close()

    @property
    def _on_demand(self) -> ToolsOnDemand:
        return ToolsOnDemand(self._fold.on_demand, self._search)

    def _add_result(self, result: ResultArrived) -> str:
        """Record a result with what follows from it; the text that windows will show."""
        pins = result_pins(self.profile.result_rule(result.name), result)
        for event in (result, *pins, *consequences(result)):
            self._take(event)
        self._open.pop(result.call_id, None)
        shown = self._fold.shown(result.call_id)
        return result.content if shown is None else shown

    def _ask_first(self) -> None:
        """The task is the first user message where nobody else has spoken."""
        spoken = any(isinstance(e, MessageAdded) and e.message.role == "user" for e in self._events)
        if self._task and not spoken:
            self._take(MessageAdded(Message("user", self._task)))

    def _read_environment(self) -> None:
        """A reading that changed since the last one is a fact before the next step."""
        names = declared_readings(self.profile)
        known: dict[str, str] = {}
        for event in self._events:
            if isinstance(event, EnvironmentRead):
                known.update(event.values)
        now = read_environment(names)
        if now and any(known.get(name) != value for name, value in now.items()):
            self._take(EnvironmentRead(now))

    def _continue(self, past: Sequence[Event]) -> None:
        for event in past:
            if isinstance(event, StepTaken):
                assembly = self._fold.assemble()
                self._workspace.put_many(assembly.offloads)
            self._advance(event)

    def _take(self, event: Event) -> None:
        """Take in a fact. A window that was assembled was sent: its step is a fact before it."""
        self._record_step()
        self._assembly = None
        self._advance(event)

    def _record_step(self) -> None:
        ledger = self._assembly.ledger if self._assembly is not None else None
        if ledger is not None and self._step != ledger.step:
            model = self.profile.model.name
            self._advance(StepTaken(ledger.step, self.profile.digest, ledger.digest, model))

    def _advance(self, event: Event) -> None:
        self._fold.advance(event)
        self._events.append(event)
        if isinstance(event, StepTaken):
            self._step = event.step
        elif isinstance(event, MessageAdded) and event.message.role == "assistant":
            self._open = {call.id: call for call in event.message.tool_calls}
        elif isinstance(event, ResultArrived):
            self._open.pop(event.call_id, None)


def _store(workspace: Path | str | None) -> BlobStore:
    if workspace is None:
        return MemoryStore()
    from contextctl.io.workspace.blobs import open_store  # imports diskcache

    return open_store(workspace)
