"""A task in progress: its fold, its files, and what of it is done.

Everything here follows from the facts in the record: a task that is continued after a crash is in
the same state as one that never stopped, because both have seen the same events.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from contextctl.core.assemble import Fold
from contextctl.core.fold.isolation import ISOLATE
from contextctl.core.knowledge.citations import citation_pins
from contextctl.core.measure.totals import Totals
from contextctl.core.tools.result_pins import result_pins
from contextctl.io.runs.environment import read_environment
from contextctl.io.runs.folder import TaskFolder
from contextctl.io.runs.records import read_record
from contextctl.io.stores.leases import Lease
from contextctl.io.workspace.session import Workspace
from contextctl.model.assembly import Assembly
from contextctl.model.ledger import LedgerReport, Usage
from contextctl.model.message import Json, Message, ToolCall, ToolSpec
from contextctl.model.profile import Profile
from contextctl.model.record import (
    CallStarted,
    EnvironmentRead,
    Event,
    MessageAdded,
    Noted,
    Opened,
    Record,
    ResultArrived,
    StepTaken,
    SummaryMade,
    ToolsListed,
    UsageReported,
)
from contextctl.model.task import Task
from contextctl.run.extract import PROPOSED
from contextctl.run.journal import Journal
from contextctl.run.offers import changed_lists, missing_notes
from contextctl.run.on_demand import ToolSearch, consequences
from contextctl.run.opening import declared_readings
from contextctl.run.setting import Setting
from contextctl.run.snapshots import summary_for
from contextctl.run.task_state import MemoryWatch, facts_with
from contextctl.run.variants import for_model
from contextctl.run.warm import warm


@dataclass(slots=True)
class Turn:
    """The last turn the model took in this run, and which of its calls are under way or done."""

    message: Message
    started: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """Calls without a result, in the order they were asked."""
        return tuple(call for call in self.message.tool_calls if call.id not in self.answered)


class Live:
    """One task between its events. ``steps`` counts the turns the model took in this run."""

    def __init__(self, setting: Setting, task: Task, folder: TaskFolder, opened: Opened) -> None:
        self.setting = setting
        self.task = task
        self.folder = folder
        self.key = opened.key
        self.workspace: Workspace = setting.workspace.for_session(opened.session, opened.key)
        self.profile: Profile = setting.profile
        self.fold = self._new_fold()
        self.totals = Totals()
        self.turn: Turn | None = None
        self.steps = 0
        self.said: list[Message] = []
        """What the model answered in this run, turn by turn."""
        self.call_ids: set[str] = set()
        self.tool_search = ToolSearch(setting.profile.defer)
        self.warnings: list[str] = []
        self.watch = MemoryWatch()
        self.lease: Lease | None = None
        self.sent: tuple[Assembly, StepTaken] | None = None
        """A window that was sent and not answered: a crash or an error stood between."""
        self.finished: tuple[LedgerReport, Assembly] | None = None
        """The last step that was answered."""
        self._environment: dict[str, str] = {}
        self._listed: dict[str, tuple[ToolSpec, ...]] = {}
        self._missing: set[tuple[Json, Json]] = set()
        self._assembled: Assembly | None = None
        self._journal: Journal | None = None

    def open(self) -> None:
        """Open the task's files. Whoever holds the record is the only one to continue it."""
        self._journal = Journal(
            self.folder,
            self.workspace,
            windows=self.setting.windows,
            secrets=self.setting.profile.secrets.values(),
        )
        if self._journal.repaired:
            self.warnings.append(self._journal.repaired)

    def check_owner(self) -> None:
        """Raise ``LeaseHeldError`` when another process has taken this task over."""
        if self.lease is not None:
            self.lease.check()

    def close(self) -> None:
        """Give the files up, and the task."""
        if self.lease is not None:
            self.lease.release()
        if self._journal is not None:
            self._journal.close()

    @property
    def journal(self) -> Journal:
        """The open files."""
        if self._journal is None:
            raise ValueError("the task's files are not open")
        return self._journal

    def facts(self, *events: Event) -> None:
        """Write facts down, then take them in. They stand in the record all or none."""
        if not events:
            return
        self.journal.facts(events)
        for event in events:
            if isinstance(event, ResultArrived):
                session = (self.workspace.session, self.key)
                warm(self.profile, self._counter, session, event)
        for event in events:
            self.absorb(event)

    def absorb(self, event: Event) -> None:
        """Take in a fact that stands in the record."""
        if isinstance(event, StepTaken):
            assembly = self._assembled or self.fold.assemble()
            self._keep(assembly)
            self.sent, self._assembled = (assembly, event), None
        self.fold.advance(event)
        self._follow(event)

    def use(self, model: str, past: Iterable[Event] | None = None) -> None:
        """Fold the record anew for ``model``, which has another window than the one before.

        ``past`` is the record so far, read from the disk when it is not given.
        """
        profile = for_model(self.setting.profile, model)
        if profile.model.name == self.profile.model.name:
            return
        self.profile = profile
        self.fold = self._new_fold()
        for event in self.record() if past is None else past:
            if isinstance(event, StepTaken):
                self._keep(self.fold.assemble())
            self.fold.advance(event)

    def record(self) -> Record:
        """All facts so far, as they stand on the disk."""
        return read_record(self.folder.record)[0]

    def window(self) -> Assembly:
        """The window of the next step. What it left out is stored, and the step is a fact.

        A window that was sent before and never answered is the same one again, under the same
        profile; no second fact is made of it.
        """
        self.check_owner()
        if self.sent is not None and self._is_same(*self.sent):
            return self.sent[0]
        self._read_environment()
        self._list_tools()
        if self.setting.state is not None:
            self.facts(*self.setting.state.before_step(self))
        self._assembled = assembly = self._summarised(self.fold.assemble())
        self._keep(assembly)
        ledger = assembly.ledger
        step = StepTaken(ledger.step, self.profile.digest, ledger.digest, self.profile.model.name)
        self.facts(step)
        return assembly

    def report(self, assembly: Assembly, ledger: LedgerReport) -> None:
        """Write the ledger of a step and, if they are kept, its window."""
        self.journal.window(self.task.id, replace(assembly, ledger=ledger))
        self.journal.step(ledger)

    def pinned(self, result: ResultArrived) -> tuple[Event, ...]:
        """A result with the pins that its tool's rule takes from it, and what follows from it."""
        rule = self.profile.result_rule(result.name)
        own = (*facts_with(result), *consequences(result))
        pins = (*result_pins(rule, result), *citation_pins(self.profile.pins, result))
        return (result, *pins, *own)

    def fresh_id(self, call_id: str) -> str:
        """``call_id``, or a name beside it when an earlier call of the record has it."""
        candidate, count = call_id or "call", 1
        while candidate in self.call_ids:
            count += 1
            candidate = f"{call_id or 'call'}_{count}"
        self.call_ids.add(candidate)
        return candidate

    def _summarised(self, assembly: Assembly) -> Assembly:
        """The window with a model's summary where it needs one. The answer is a fact before it."""
        setting = self.setting
        if not assembly.needs or setting.summariser is None:
            return assembly
        for need in assembly.needs:
            made = summary_for(
                need,
                self.record(),
                profile=self.profile,
                summariser=setting.summariser,
                snapshots=setting.snapshots,
                task=self.task.id,
            )
            self.facts(made)
        return self.fold.assemble()

    def _keep(self, assembly: Assembly) -> None:
        """What a step left out is stored, then what it compacted is audited."""
        self.workspace.put_many(assembly.offloads)
        if self.setting.audit is not None:
            self.setting.audit.add(assembly.compactions)

    def _new_fold(self) -> Fold:
        self._counter = self.setting.counter_of(self.profile.model.name)
        return Fold(self.profile, self._counter)

    def _is_same(self, assembly: Assembly, step: StepTaken) -> bool:
        now = (self.profile.digest, self.profile.model.name, assembly.ledger.digest)
        return now == (step.profile, step.model, step.digest)

    def _read_environment(self) -> None:
        """A reading that changed since the last step is a fact before the next one (SPEC P6)."""
        names = declared_readings(self.profile)
        if not names:
            return
        now = read_environment(names)
        if now != {name: self._environment.get(name) for name in now}:
            self.facts(EnvironmentRead(now))

    def _list_tools(self) -> None:
        """The tools of a server that changed them are listed again before the next step."""
        tools = self.setting.tools
        news: list[Event] = [*changed_lists(tools.specs(), self.task.tools, self._listed)]
        missing = [one for one in tools.missing() if (one.server, one.tool) not in self._missing]
        news += missing_notes(missing)
        if news:
            self.facts(*news)

    def _follow(self, event: Event) -> None:
        """Keep count of turns, calls and tokens."""
        self.watch.follow(event)
        if isinstance(event, EnvironmentRead):
            self._environment.update(event.values)
        elif isinstance(event, ToolsListed):
            self._listed[event.source] = event.tools
        elif isinstance(event, Noted):
            self._noted(event)
        elif isinstance(event, MessageAdded):
            self._said(event.message)
        elif self.turn is not None and isinstance(event, CallStarted):
            self.turn.started.add(event.call_id)
        elif isinstance(event, ResultArrived):
            self._arrived(event)
        elif isinstance(event, UsageReported) and self.sent is not None:
            self.sent = None  # the provider refused this window: the next try is another one
        elif isinstance(event, UsageReported) and self.finished is not None:
            ledger, assembly = self.finished
            self.finished = (with_usage(ledger, event), assembly)
            self.totals.completion += event.completion_tokens
            self.totals.cached += event.cached_tokens
            self.totals.cost += event.cost_usd
        elif isinstance(event, SummaryMade):
            self.totals.summarised(event.usage)

    def _noted(self, event: Noted) -> None:
        self._missing.add((event.body.get("server"), event.body.get("tool")))
        usage = event.body.get("usage")
        if event.topic == PROPOSED and isinstance(usage, dict):
            self.totals.extracted(usage)

    def _arrived(self, event: ResultArrived) -> None:
        if self.turn is not None:
            self.turn.answered.add(event.call_id)
        told = event.extra.get(ISOLATE)
        if isinstance(told, dict):
            self.totals.delegate(told)

    def _said(self, message: Message) -> None:
        if message.role != "assistant":
            return
        self.call_ids.update(call.id for call in message.tool_calls)
        if self.sent is None:
            return  # a turn of the conversation that the task came with
        assembly, _ = self.sent
        self.sent = None
        self.turn = Turn(message)
        self.said.append(message)
        self.steps += 1
        self.finished = (assembly.ledger, assembly)
        self.totals.add(assembly.ledger)


def with_usage(ledger: LedgerReport, event: UsageReported) -> LedgerReport:
    """The ledger of a step with what the provider counted beside our own count."""
    prompt = event.prompt_tokens
    usage = Usage(
        prompt_tokens=prompt,
        cached_tokens=event.cached_tokens,
        cache_write_tokens=event.cache_write_tokens,
        completion_tokens=event.completion_tokens,
        cost_usd=event.cost_usd,
        count_error=round((ledger.total - prompt) / prompt, 4) if prompt else 0.0,
    )
    measured = dict(ledger.measured)
    if event.first_token_s is not None:
        measured["first_token_s"] = round(event.first_token_s, 3)
    return replace(ledger, usage=usage, measured=measured)


def model_error(step: int, model: str, message: str) -> Noted:
    """A model that gave no answer, as a fact: it shapes no window and explains a gap."""
    return Noted("model_error", {"step": step, "model": model, "message": message})
