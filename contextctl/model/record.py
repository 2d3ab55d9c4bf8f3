"""The record: the append-only facts of one task.

Whatever a window depends on is an event here. Decisions (what was shaped, what was trimmed) are
not: they are derived again by folding the events, so the same record gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from contextctl.model.message import Json, Message, ToolSpec


@dataclass(frozen=True, slots=True)
class Opened:
    """The first fact of a record. ``key`` (hex) makes this session's workspace refs unguessable."""

    kind: ClassVar[str] = "opened"
    task: str
    session: str
    key: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class EnvironmentRead:
    """A reading of the environment: ``date``, ``timezone``, ``platform``, ``workspace`` …"""

    kind: ClassVar[str] = "environment"
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TaskGiven:
    """What the task asks: its constraints and the values pinned from its first line on."""

    kind: ClassVar[str] = "task"
    input: str = ""
    constraints: tuple[str, ...] = ()
    pins: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolsListed:
    """The tools one source offers now; a later listing of the same source replaces it."""

    kind: ClassVar[str] = "tools"
    source: str
    tools: tuple[ToolSpec, ...]


@dataclass(frozen=True, slots=True)
class IndexRead:
    """What an index layer of that ``source`` (``skills``, ``memory``) lists from now on.

    An entry is ``{"name", "about"}``; how much of each stands in the window is the profile's
    matter. A later reading of the same source replaces this one.
    """

    kind: ClassVar[str] = "index"
    source: str
    entries: tuple[Mapping[str, Json], ...] = ()


@dataclass(frozen=True, slots=True)
class ToolsActivated:
    """Deferred tools that a search found: their schemas stay in the window from here on."""

    kind: ClassVar[str] = "activated"
    names: tuple[str, ...]
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class MessageAdded:
    """A system, user or assistant message as it came. Tool results are ``ResultArrived``."""

    kind: ClassVar[str] = "message"
    message: Message


@dataclass(frozen=True, slots=True)
class RetrievedAdded:
    """Passages found for the current question, best first: ``{"id", "text", "source"}``."""

    kind: ClassVar[str] = "retrieved"
    passages: tuple[Mapping[str, Json], ...]


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A tool call is about to run; on disk before it does, so a crash shows it as uncertain."""

    kind: ClassVar[str] = "call_started"
    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ResultArrived:
    """The raw result of a call, whole. ``status`` is ``ok``, ``error`` or ``unknown``.

    ``media`` is the MIME type of the original where it is not text; ``content`` is then its
    description and ``blob`` the sha256 of the bytes that the loop stored.
    """

    kind: ClassVar[str] = "result"
    call_id: str
    name: str
    content: str
    status: str = "ok"
    media: str = ""
    blob: str = ""
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StepTaken:
    """A window was assembled and sent (or would have been). Digests are compared on re-assembly."""

    kind: ClassVar[str] = "step"
    step: int
    profile: str = ""
    digest: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class UsageReported:
    """What the provider counted for a step. ``prompt_tokens`` includes cached and written ones.

    ``traced`` marks a usage out of a recorded trace: it measured the trace's own window, which
    held everything, and not the one that was assembled here.
    """

    kind: ClassVar[str] = "usage"
    step: int
    model: str
    prompt_tokens: int
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0
    first_token_s: float | None = None
    traced: bool = False


@dataclass(frozen=True, slots=True)
class PinSet:
    """A value that must stay verbatim: ``key`` is one of the profile's pins, dotted below it."""

    kind: ClassVar[str] = "pin"
    key: str
    value: Json
    source: str = ""


@dataclass(frozen=True, slots=True)
class SlotSet:
    """A reminder slot got a new text; an empty text clears it. ``once:`` keys go after delivery."""

    kind: ClassVar[str] = "slot"
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class SlotDelivered:
    """``once:`` slots stood in the window of ``step``, and the model answered it: they are gone."""

    kind: ClassVar[str] = "slot_delivered"
    keys: tuple[str, ...]
    step: int = 0


@dataclass(frozen=True, slots=True)
class MemoryRead:
    """What was recalled from long-term memory for ``query``, best first.

    An item is ``{"id", "kind", "text", "source", "month"}``. ``shown`` is false where the answer of
    a call holds them already.
    """

    kind: ClassVar[str] = "memory"
    query: str = ""
    items: tuple[Mapping[str, Json], ...] = ()
    shown: bool = True


@dataclass(frozen=True, slots=True)
class MemoryForgotten:
    """Memories that were deleted since they were read: no later window may hold them."""

    kind: ClassVar[str] = "memory_forgotten"
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StageEnded:
    """A stage of the work is complete: the preferred moment for a compaction."""

    kind: ClassVar[str] = "stage"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Todo:
    """One item of the plan. ``status`` is ``pending``, ``active``, ``done`` or ``failed``.

    ``id`` names it (its place in the list, when it has none), ``after`` are the ids of items that
    have to be done first, ``parent`` is the item it is a part of, ``note`` how it ended.
    """

    text: str
    status: str = "pending"
    id: str = ""
    after: tuple[str, ...] = ()
    parent: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class TodoSet:
    """The whole todo list as it is now; it replaces the one before."""

    kind: ClassVar[str] = "todo"
    items: tuple[Todo, ...]


@dataclass(frozen=True, slots=True)
class OutputSaved:
    """What an item of the plan produced stands in the workspace, under ``ref``."""

    kind: ClassVar[str] = "output"
    item: str
    name: str
    ref: str


@dataclass(frozen=True, slots=True)
class BriefMade:
    """What has changed in the plan since the last brief, for people and for the next window."""

    kind: ClassVar[str] = "brief"
    text: str


@dataclass(frozen=True, slots=True)
class SummaryMade:
    """The answer to a summary need. ``through`` is the last event covered, ``body`` its fields.

    An empty ``body`` says that there is no usable summary, and ``fault`` why: the mechanical one
    stands then. ``usage`` is what asking took: ``requests``, ``prompt_tokens``,
    ``completion_tokens``, ``cost_usd``, ``repairs``.
    """

    kind: ClassVar[str] = "summary"
    need: str
    through: int
    body: Mapping[str, Json]
    by: str = "mechanical"
    generation: int = 1
    fault: str = ""
    usage: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Noted:
    """A fact that shapes no window: a compaction the agent made, thinking, a warning, an ending."""

    kind: ClassVar[str] = "note"
    topic: str
    body: Mapping[str, Json] = field(default_factory=dict)


Event: TypeAlias = (
    Opened
    | EnvironmentRead
    | TaskGiven
    | ToolsListed
    | ToolsActivated
    | IndexRead
    | MessageAdded
    | RetrievedAdded
    | CallStarted
    | ResultArrived
    | StepTaken
    | UsageReported
    | PinSet
    | SlotSet
    | SlotDelivered
    | MemoryRead
    | MemoryForgotten
    | StageEnded
    | TodoSet
    | OutputSaved
    | BriefMade
    | SummaryMade
    | Noted
)
Record: TypeAlias = tuple[Event, ...]


def event_id(seq: int) -> str:
    """The name of the event at position ``seq`` (from 1) in its record: ``e07``."""
    return f"e{seq:02d}"
